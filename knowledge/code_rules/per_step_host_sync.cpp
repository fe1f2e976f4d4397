#include <array>
#include <unordered_set>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

// The innermost loop that differentiates and steps: one turn is a training step, of one microbatch or of several.
const Loop* step_loop(const Trace& trace, const Event& backward) {
  const Loop* loop = backward.loop;
  for (int i = 0; i < 2 && loop != nullptr; ++i, loop = loop->outer) {
    for (std::uint32_t at = loop->begin; at < loop->end && at < trace.events.size(); ++at) {
      if (trace.events[at].is(EventKind::kStep)) return loop;
    }
  }
  return nullptr;
}

using Objects = std::unordered_set<const Object*>;

// What a training step has on the device: the loss, the gradient norm, what the model gave.
Objects device_values(const Trace& trace, const Loop& loop) {
  Objects values;
  for (std::uint32_t i = loop.begin; i < loop.end && i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.is(EventKind::kForward) || event.is(EventKind::kClip)) values.insert(event.result);
    if (!event.is(EventKind::kBackward)) continue;
    const Object* loss = main_of(event.receiver);
    if (loss != nullptr && loss->type != Type::kAccelerator) values.insert(loss);
  }
  values.erase(nullptr);
  return values;
}

bool is_on_device(const Objects& values, const Object* value) {
  return made_from(value, [&](const Object& object) { return values.contains(&object); });
}

bool is_read(std::string_view callee) {
  static constexpr std::array<std::string_view, 5> kReads = {".item", ".cpu", ".tolist", ".numpy", "float"};
  for (const std::string_view read : kReads) {
    if (callee == read) return true;
  }
  return false;
}

bool waits(const Objects& values, const Event& event) {
  if (event.callee == "torch.cuda.synchronize" || event.callee == "torch.cuda.empty_cache") return true;
  const bool prints = event.callee == "print";
  if (!is_read(event.callee) && !prints) return false;
  if (event.callee.front() == '.') return is_on_device(values, event.receiver);
  if (event.arguments == nullptr) return false;
  for (const Argument& argument : event.arguments->list) {
    const Object* value = main_of(argument.value);
    if (value == nullptr || value->type == Type::kNumber) continue;
    if (is_on_device(values, value)) return true;
  }
  return false;
}

// Runs in every turn; a test of the rank does not make it rare.
bool is_unconditional(const Event& event, const Event& backward) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    if (under(backward, guard)) return true;
    if (ends_with_part(guard->test.text(), "sync_gradients")) continue;  // once in every optimizer step
    if ((guard->taints & kRank) == 0 || (guard->taints & kStepCount) != 0 || contains(guard->test.text(), "%"))
      return false;
  }
  return true;
}

bool in_condition(python::Node node) {
  for (python::Node up = node.parent(); up; node = up, up = up.parent()) {
    if (node.field() == "condition" || up.is("assert_statement")) return true;
    if (up.is("expression_statement") || up.is("block") || up.is("module")) return false;
  }
  return false;
}

// The value read decides something: it stands in a condition, or some condition was made from it.
bool steers(const Trace& trace, const Event& read) {
  if (in_condition(read.node)) return true;
  if (read.result == nullptr) return false;
  // Itself, or `1 if value else 0`.
  const auto is_decided_by = [&](const Object& object) {
    return &object == read.result || (object.type == Type::kUnion && made_from(object.receiver, read.result));
  };
  Objects conditions;
  for (const Event& event : trace.events) {
    for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
      if (guard->value == nullptr || !conditions.insert(guard->value).second) break;
      if (made_from(guard->value, is_decided_by)) return true;
    }
  }
  return false;
}

}  // namespace

namespace {

// A unit test looks at each step.
bool in_a_test(const Event& event) {
  for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller) {
    if (frame->function != nullptr && frame->function->name.starts_with("test_")) return true;
  }
  return false;
}

}  // namespace

void per_step_host_sync(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    std::unordered_set<const Loop*> seen;
    for (const Event& backward : trace.events) {
      if (!backward.is(EventKind::kBackward) || backward.pass != 1 || backward.loop == nullptr || in_a_test(backward))
        continue;
      const Loop* loop = step_loop(trace, backward);
      if (loop == nullptr || !seen.insert(loop).second) continue;
      const Objects values = device_values(trace, *loop);
      for (std::uint32_t i = loop->begin; i < loop->second && i < trace.events.size(); ++i) {
        const Event& event = trace.events[i];
        if (context_of(event, "torch.inference_mode") != nullptr || !waits(values, event)) continue;
        if (!is_unconditional(event, backward) || steers(trace, event)) continue;
        findings.at(event, "The host reads a value of this step in every step.");
        break;
      }
    }
  }
}

}  // namespace fx::knowledge::checks
