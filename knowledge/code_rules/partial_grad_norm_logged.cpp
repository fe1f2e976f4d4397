#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool gives_norm(const Trace& trace, const Event& event) {
  if (event.result == nullptr) return false;
  if (event.is(EventKind::kClip)) {
    return event.callee.starts_with("torch.nn.utils.") && sharding_of(trace, event.subject) == Sharding::kFsdp2;
  }
  if (!ends_with_part(event.callee, "get_total_norm")) return false;
  for (const Event& shard : trace.events) {
    if (shard.is(EventKind::kShard) && ends_with_part(shard.callee, "fully_shard")) return true;
  }
  return false;
}

bool is_log(std::string_view callee) {
  static constexpr std::array<std::string_view, 8> kNames = {"print", "log",         "add_scalar", "info",
                                                             "debug", "set_postfix", "log_metric", "write"};
  for (const std::string_view name : kNames) {
    if (last_part(callee) == name) return true;
  }
  return false;
}

// The norm itself, maybe one of several numbers: where it may have been gathered on some path, it was.
bool is_only(const Object* value, const Object* norm) {
  const auto all = alternatives(value);
  return std::ranges::find(all, norm) != all.end() &&
         std::ranges::none_of(all, [&](const Object* other) { return other != norm && made_from(other, norm); });
}

bool shows(const Object* value, const Object* norm) {
  if (is_only(value, norm)) return true;
  value = main_of(value);
  if (value == nullptr) return false;
  for (const Object* item : value->items) {
    if ((value->type == Type::kText || value->type == Type::kSequence) && is_only(item, norm)) return true;
  }
  for (const auto& [key, member] : value->members) {
    if (value->type == Type::kDict && is_only(member, norm)) return true;
  }
  return false;
}

bool uses(const Event& event, const Object* norm) {
  if (event.callee == ".item" || event.callee == ".cpu" || event.callee == ".tolist")
    return is_only(event.receiver, norm);
  if (event.arguments == nullptr || event.arguments->list.empty()) return false;
  if (event.callee == "float") return is_only(event.arguments->list.front().value, norm);
  if (!event.is(EventKind::kCall) || !is_log(event.callee)) return false;  // one that was sent is looked into
  for (const Argument& argument : event.arguments->list) {
    if (shows(argument.value, norm)) return true;
  }
  return false;
}

}  // namespace

void partial_grad_norm_logged(const Program& program, Findings& findings) {
  if (!program.context().torch_below(2, 13)) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& clip : trace.events) {
      if (clip.pass != 1 || !gives_norm(trace, clip)) continue;
      for (std::uint32_t i = clip.index + 1; i < trace.events.size(); ++i) {
        if (!uses(trace.events[i], clip.result)) continue;
        findings.at(trace.events[i], "This norm is a DTensor that holds the part of this rank.");
        break;
      }
    }
  }
}

}  // namespace fx::knowledge::checks
