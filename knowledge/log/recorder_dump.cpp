#include "knowledge/log/recorder_dump.h"

#include <algorithm>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kToken = 200;  // longer strings are cut
constexpr std::size_t kDepth = 32;   // deeper documents are no dumps
constexpr std::size_t kGroups = 64;
constexpr std::size_t kKept = 24;            // entries on either side of the first unfinished one
constexpr std::size_t kUndecided = 1 << 16;  // so many bytes without a sign of a dump: it is none

long long to_number(std::string_view text) {
  return integer_after(text, "").value_or(-1);
}

}  // namespace

void RecorderDump::feed(std::string_view line, int number) {
  number_ = number;
  seen_ += line.size() + 1;
  for (const char c : line) {
    if (quote_ != 0) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
        continue;
      } else if (c == quote_) {
        end_token();
        continue;
      }
      if (token_.size() < kToken) token_ += c;
      continue;
    }
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                       c == '.' || c == '+' || c == '_';
    if (plain) {
      bare_ = true;
      if (token_.size() < kToken) token_ += c;
      continue;
    }
    if (bare_) end_token();
    structure(c);
    if (!possible_) return;
  }
  if (bare_) end_token();
  if (levels_.empty() || (!recognised_ && seen_ > kUndecided)) possible_ = recognised_;
}

void RecorderDump::structure(char c) {
  if (c == '"' || c == '\'') {
    quote_ = c;
    token_.clear();
  } else if (c == '{' || c == '[') {
    open(c == '{');
  } else if (c == '}' || c == ']') {
    close();
  } else if (c == ':' || c == ',') {
    want_value_ = c == ':';
  }
}

void RecorderDump::end_token() {
  const bool text = quote_ != 0;
  quote_ = 0;
  bare_ = false;
  const bool key = text && !levels_.empty() && levels_.back().object && !want_value_;
  if (key) {
    key_ = token_;
    if (key_ == "collective_seq_id" || key_ == "last_enqueued_collective" || key_ == "pg_config") recognised_ = true;
  } else {
    value(token_);
    want_value_ = false;
  }
  token_.clear();
}

void RecorderDump::open(bool object) {
  if (levels_.size() >= kDepth) {
    possible_ = false;
    return;
  }
  Level level;
  level.object = object;
  level.key = levels_.empty() || levels_.back().object ? key_ : levels_.back().key;
  level.in_frames = (!levels_.empty() && levels_.back().in_frames) || level.key == "frames";
  levels_.push_back(std::move(level));
  if (object && entry_level_ == 0 && levels_.size() >= 2 && !levels_[levels_.size() - 2].object &&
      levels_.back().key == "entries") {
    entry_level_ = levels_.size();
    entry_ = {};
    named_ = false;
  }
  if (entry_level_ > 0 && !object && (key_ == "input_sizes" || levels_.back().key == "input_sizes") &&
      entry_.sizes.size() < 80)
    entry_.sizes += '[';
  want_value_ = false;
}

void RecorderDump::close() {
  if (levels_.empty()) return;
  if (entry_level_ > 0 && !levels_.back().object && levels_.back().key == "input_sizes" && entry_.sizes.size() < 80)
    entry_.sizes += ']';
  if (levels_.size() == entry_level_) finish_entry();
  levels_.pop_back();
  want_value_ = false;
}

void RecorderDump::value(std::string_view text) {
  if (levels_.empty()) return;
  const Level& level = levels_.back();
  const std::string_view key = level.object ? std::string_view(key_) : std::string_view(level.key);
  if (entry_level_ > 0) return entry_value(key, text);
  if (levels_.size() == 1 && (key == "rank" || key == "global_rank")) {
    const auto rank = to_number(text);
    if (rank >= 0 && rank < 1000000) rank_ = static_cast<int>(rank);
  }
  if (key != "last_enqueued_collective" && key != "last_completed_collective") return;
  if (groups_.size() >= kGroups && groups_.count(level.key) == 0) return;
  auto& status = groups_[level.key].status;
  status.number = number_;
  status.group = level.key;
  (key == "last_enqueued_collective" ? status.enqueued : status.completed) = to_number(text);
}

void RecorderDump::entry_value(std::string_view key, std::string_view text) {
  if (levels_.back().in_frames) {
    if (key == "name" && entry_.frames.size() + text.size() < 300) (entry_.frames += text) += ' ';
    return;
  }
  if (key == "collective_seq_id" || (key == "seq_id" && entry_.sequence < 0)) {
    entry_.sequence = to_number(text);
    entry_.number = number_;
  } else if (key == "profiling_name") {
    entry_.operation = text;
  } else if (key == "stage") {
    entry_.stage = text;
  } else if (key == "state") {
    entry_.state = text;
  } else if (key == "is_p2p") {
    entry_.point_to_point = text == "true" || text == "True";
  } else if (key == "process_group" && !named_) {
    entry_.group = text;  // its name; the description follows
    named_ = true;
  } else if ((key == "pg_name" || key == "pg_id") && entry_.group.empty()) {
    entry_.group = text;
  } else if (key == "input_sizes" && entry_.sizes.size() < 80) {
    if (!entry_.sizes.empty() && entry_.sizes.back() != '[') entry_.sizes += ',';
    entry_.sizes += text;
  }
}

void RecorderDump::finish_entry() {
  entry_level_ = 0;
  if (entry_.sequence < 0 || entry_.point_to_point) return;
  if (groups_.size() >= kGroups && groups_.count(entry_.group) == 0) return;
  Group& group = groups_[entry_.group];
  const bool done = entry_.state == "completed";
  if (group.status.group.empty()) group.status.group = entry_.group;
  group.status.number = std::max(group.status.number, entry_.number);
  group.status.enqueued = std::max(group.status.enqueued, entry_.sequence);
  if (done) group.status.completed = std::max(group.status.completed, entry_.sequence);
  auto& list = done ? group.done : group.pending;
  if (done && list.size() >= kKept) list.erase(list.begin());
  if (list.size() < kKept) list.push_back(std::move(entry_));
  entry_ = {};
}

std::vector<RecorderEntry> RecorderDump::entries() const {
  std::vector<RecorderEntry> out;
  for (const auto& [name, group] : groups_) {
    out.insert(out.end(), group.done.begin(), group.done.end());
    out.insert(out.end(), group.pending.begin(), group.pending.end());
  }
  return out;
}

std::vector<RecorderStatus> RecorderDump::statuses() const {
  // The document's own summary counts groups by another number; the entries tell more where there are any.
  const bool listed = std::any_of(groups_.begin(), groups_.end(), [](const auto& row) {
    return !row.second.done.empty() || !row.second.pending.empty();
  });
  std::vector<RecorderStatus> out;
  for (const auto& [name, group] : groups_) {
    if (listed && group.done.empty() && group.pending.empty()) continue;
    if (group.status.enqueued >= 0 || group.status.completed >= 0) out.push_back(group.status);
  }
  return out;
}

}  // namespace fx::knowledge
