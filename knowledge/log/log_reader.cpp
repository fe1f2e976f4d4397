#include "knowledge/log/log_reader.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "base/text.h"
#include "knowledge/log/chatter.h"
#include "knowledge/log/field_reader.h"
#include "knowledge/log/local_ranks.h"
#include "knowledge/log/scope.h"
#include "knowledge/log/wrapped_line.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kEarlyBytes = 4096;  // so much of a log tells its margin

// Removes ANSI escape sequences (colours, cursor moves) and other control bytes but the tab.
void strip_controls(std::string_view in, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const char c = in[i];
    if (c == '\x1b') {
      if (i + 1 < in.size() && in[i + 1] == '[') {
        i += 2;
        while (i < in.size() && (in[i] < '@' || in[i] > '~')) ++i;
      } else if (i + 1 < in.size()) {
        ++i;
      }
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\t') {
      out += c;
    }
  }
}

bool has_controls(std::string_view line) {
  return std::any_of(line.begin(), line.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; });
}

// More bytes that no text has than a damaged line would show: the data of a file, in which any word comes up by chance.
bool is_binary(std::string_view line) {
  const auto strange = std::count_if(line.begin(), line.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte != 0 && byte < 0x20 && std::string_view("\t\r\a\b\f\v\x1b").find(c) == std::string_view::npos;
  });
  if (strange >= 2 && static_cast<std::size_t>(strange) * 33 > line.size()) return true;
  return strange > 0 && valid_utf8(line).size() >= line.size() + 6;  // three bytes that are no UTF-8
}

// "rank_3.log", "logs/rank3/stderr.log": the number behind "rank", -1 if there is none.
int rank_in_name(std::string_view name) {
  const std::string low = to_lower(name);
  const auto at = low.rfind("rank");
  if (at == std::string::npos) return -1;
  std::size_t pos = at + 4;
  if (pos < low.size() && (low[pos] == '_' || low[pos] == '-')) ++pos;
  std::size_t end = pos;
  while (end < low.size() && end - pos < 6 && low[end] >= '0' && low[end] <= '9') ++end;
  if (end == pos) return -1;
  return static_cast<int>(*to_integer(std::string_view(low).substr(pos, end - pos)));
}

// "dumps/trace_7", "fr_7.json": the last number of a file's name, -1 if there is none.
int last_number_in(std::string_view name) {
  name = name.substr(name.find_last_of('/') == std::string_view::npos ? 0 : name.find_last_of('/') + 1);
  const auto numbers = integers_in(name);
  return numbers.empty() || numbers.back() >= 1000000 ? -1 : static_cast<int>(numbers.back());
}

// "[rank0]", "[RANK:0]", "- rank 0 -", "| rank=0 |" behind a time, a level or a logger's name: a field of its own close
// to the start.
int late_rank(std::string_view low) {
  const std::string_view head = low.substr(0, 120);
  for (auto at = head.find("rank"); at != std::string_view::npos; at = head.find("rank", at + 4)) {
    const std::string_view before = head.substr(0, at);
    const bool bracket = !before.empty() && (before.back() == '[' || before.back() == '(');
    const std::string_view sign = before.substr(before.size() < 2 ? 0 : before.size() - 2);
    const bool field = sign == "- " || sign == "| " || sign == ", " || sign == "] ";
    auto pos = head.find_first_not_of(":= ", at + 4);
    if ((!bracket && !field) || pos == std::string_view::npos) continue;
    const auto rank = integer_after(head.substr(pos), "");
    while (pos < head.size() && head[pos] >= '0' && head[pos] <= '9') ++pos;
    const std::string_view ends = bracket ? "])" : " :,";
    const bool closed = pos < head.size() ? ends.find(head[pos]) != std::string_view::npos : field;
    if (closed && rank && *rank >= 0 && *rank < 1000000) return static_cast<int>(*rank);
  }
  return -1;
}

// A worker that introduces itself: "Initializing rank 0/3", "rank 1 CUDA_VISIBLE_DEVICES=...", "global_rank: 2".
int introduced_rank(std::string_view low_body) {
  for (const std::string_view key :
       {"initializing rank", "global_rank:", "global_rank=", "global rank:", "global rank"}) {
    if (const auto rank = integer_after(low_body, key); rank && *rank >= 0 && *rank < 1000000)
      return static_cast<int>(*rank);
  }
  const std::string_view text = trim(low_body);
  if (text.substr(0, 5) != "rank " && text.substr(0, 5) != "rank=" && text.substr(0, 5) != "rank:") return -1;
  const auto rank = integer_after(text.substr(5), "");
  return rank && *rank >= 0 && *rank < 1000000 ? static_cast<int>(*rank) : -1;
}

}  // namespace

LogReader::LogReader(const MarkTable& table, LogLimits limits) : table_(table), limits_(limits) {
  book_.table = &table;
  book_.hits.resize(table.size());
  hit_limits_.assign(table.size(), limits.hits_per_mark);
  for (const std::string_view event :
       {"timeout", "status", "dump_signal", "fingerprint", "recorder", "summary", "exit"}) {
    hit_limits_[table.index("core", event)] = limits.hits_per_event;
  }
  speaks_in_chatter_.assign(table.size(), false);
  for (const auto& mark : scope_marks()) speaks_in_chatter_[table.index("core", mark.name)] = true;
  chatter_ = static_cast<std::uint32_t>(table.index("core", chatter_marks().front().name));
}

void LogReader::begin(std::string name) {
  if (!book_.logs.empty()) end_log();
  log_rank_ = rank_in_name(name);
  book_.logs.push_back(std::move(name));
  early_.clear();
  settled_ = false;
  number_ = 0;
  follow_ = 0;
  dump_ = {};
  maybe_dump_ = begun_ = false;
  spawned_rank_ = -1;
  rank_of_actor_.clear();
}

void LogReader::end_log() {
  if (!settled_) settle();
  if (!pending_.empty()) take_line(pending_);
  pending_.clear();
  if (maybe_dump_ && dump_.recognised()) keep_dump();
  book_.line_counts.push_back(number_);
}

void LogReader::read_dump(std::string_view line) {
  if (!begun_) {
    const std::string_view text = trim(line);
    begun_ = !text.empty();
    maybe_dump_ = begun_ && (text.front() == '{' || text.front() == '[');
  }
  if (!maybe_dump_) return;
  dump_.feed(line, number_);
  maybe_dump_ = dump_.possible();
}

void LogReader::keep_dump() {
  DumpedLog dump;
  dump.log = static_cast<int>(book_.logs.size()) - 1;
  dump.rank = dump_.rank() >= 0 ? dump_.rank() : log_rank_ >= 0 ? log_rank_ : last_number_in(book_.logs.back());
  dump.entries = dump_.entries();
  dump.statuses = dump_.statuses();
  for (auto line = book_.lines.rbegin(); line != book_.lines.rend() && line->log == dump.log; ++line)
    line->rank = dump.rank;
  book_.dumps.push_back(std::move(dump));
}

namespace {

// What a line says without its numbers.
std::size_t wording_of(const LogLine& line) {
  std::string out;
  for (const char c : line.low_body().substr(0, 200)) {
    if (c < '0' || c > '9') out += c;
  }
  return std::hash<std::string>{}(out);
}

void order_by_wording(LogBook& book) {
  std::vector<std::size_t> wordings;
  wordings.reserve(book.lines.size());
  for (const auto& line : book.lines) wordings.push_back(wording_of(line));
  for (auto& hits : book.hits) {
    std::unordered_set<std::size_t> seen;
    std::vector<int> repeats;
    for (const int line : hits.lines) {
      const bool first = seen.insert(wordings[static_cast<std::size_t>(line)]).second;
      (first ? hits.telling : repeats).push_back(line);
    }
    hits.telling.insert(hits.telling.end(), repeats.begin(), repeats.end());
  }
}

}  // namespace

LogBook LogReader::finish() {
  if (!book_.logs.empty()) end_log();
  take_local_ranks(book_);
  order_by_wording(book_);
  return std::move(book_);
}

void LogReader::feed(std::string_view chunk) {
  if (!settled_) {
    const auto part = chunk.substr(0, kEarlyBytes - early_.size());
    early_.append(part);
    if (early_.size() < kEarlyBytes) return;
    settle();
    chunk.remove_prefix(part.size());
  }
  take_text(chunk);
}

void LogReader::settle() {
  settled_ = true;
  margin_ = common_margin(early_);
  const std::string text = std::move(early_);
  early_.clear();
  take_text(text);
}

void LogReader::take_text(std::string_view chunk) {
  while (!chunk.empty()) {
    const auto end = chunk.find('\n');
    const std::string_view part = chunk.substr(0, end);
    if (end == std::string_view::npos) {
      // A line without end must not grow without bound.
      if (pending_.size() < (std::size_t{1} << 20)) pending_.append(part);
      return;
    }
    if (pending_.empty()) {
      take_line(part);
    } else {
      pending_.append(part);
      take_line(pending_);
      pending_.clear();
    }
    chunk.remove_prefix(end + 1);
  }
}

void LogReader::take_line(std::string_view line) {
  ++number_;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.substr(0, margin_.size()) == margin_) line.remove_prefix(margin_.size());
  if (!begun_ || maybe_dump_) read_dump(line);
  line = unwrap_line(line, unwrapped_);
  if (line.find('\r') == std::string_view::npos) return take_segment(line);
  // A progress bar overwrites itself: each state is a line of its own with the same number.
  for (const auto segment : split(line, '\r')) {
    if (!segment.empty()) take_segment(segment);
  }
}

bool LogReader::find_marks(std::string_view segment) {
  found_.clear();
  table_.find(segment, {}, found_);
  if (!std::binary_search(found_.begin(), found_.end(), chatter_) && !is_commit(segment)) return false;
  found_.erase(std::remove_if(found_.begin(), found_.end(), [&](auto mark) { return !speaks_in_chatter_[mark]; }),
               found_.end());
  return true;
}

bool LogReader::wanted(std::string_view segment, bool marked) {
  if (book_.lines.size() >= limits_.kept_lines || kept_bytes_ > limits_.kept_bytes) return false;
  if (marked) {
    follow_ = 2;
    return true;
  }
  if (static_cast<std::size_t>(number_) <= limits_.whole_lines) return true;
  if (follow_ > 0 && !segment.empty()) {
    --follow_;
    return true;
  }
  return false;
}

void LogReader::take_segment(std::string_view segment) {
  if (segment.size() > limits_.line_bytes) segment = segment.substr(0, limits_.line_bytes);
  if (segment.find('\x1b') != std::string_view::npos || has_controls(segment)) {
    if (is_binary(segment)) return;
    strip_controls(segment, cleaned_);
    segment = cleaned_;
  }
  const bool chatter = find_marks(segment);
  const bool marked = std::any_of(found_.begin(), found_.end(), [&](std::uint32_t mark) {
    return book_.hits[mark].lines.size() < hit_limits_[mark];
  });
  const bool kept = wanted(segment, marked);
  if (kept) keep(segment, chatter);
  for (const auto mark : found_) {
    ++book_.hits[mark].count;
    if (kept) book_.hits[mark].lines.push_back(static_cast<int>(book_.lines.size()) - 1);
  }
}

void LogReader::keep(std::string_view segment, bool chatter) {
  LogLine line;
  line.chatter = chatter;
  line.log = static_cast<int>(book_.logs.size()) - 1;
  line.number = number_;
  line.text = std::string(segment);
  line.low = to_lower(segment);
  line.head = read_head(segment);
  if (line.head.rank < 0) line.head.rank = late_rank(line.low);
  if (line.head.rank < 0 && line.head.pid >= 0) line.head.rank = introduced_rank(line.low_body());
  if (const auto rank = integer_after(line.low, "-- process "); rank && matches_any("terminated with", line.low))
    spawned_rank_ = *rank >= 0 && *rank < 1000000 ? static_cast<int>(*rank) : -1;
  line.rank = line.head.rank >= 0 ? line.head.rank : log_rank_ >= 0 ? log_rank_ : spawned_rank_;
  std::string writer = line.head.actor + "/" + line.head.host + "/" + std::to_string(line.head.pid);
  if (line.head.pid >= 0) {
    if (line.head.rank >= 0) {
      rank_of_actor_.emplace(writer, line.head.rank);
    } else if (const auto known = rank_of_actor_.find(writer); known != rank_of_actor_.end() && line.rank < 0) {
      line.rank = known->second;
    }
  }
  writer +=
      "/" + std::to_string(line.rank) + "/" + std::to_string(line.head.local_rank) + "/" + std::to_string(line.log);
  line.stream = streams_.emplace(std::move(writer), static_cast<int>(streams_.size())).first->second;
  kept_bytes_ += 2 * segment.size() + sizeof(LogLine);
  book_.lines.push_back(std::move(line));
}

}  // namespace fx::knowledge
