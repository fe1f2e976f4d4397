#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

constexpr std::array<std::string_view, 4> kLauncherVariables = {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"};

bool reads_launcher_variables(const Program& program) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.callee == "os.getenv" && event.result != nullptr && event.result->identity != Identity::kNone)
        return true;
    }
  }
  return false;
}

// Any condition but the `__main__` guard, which leaves no trace.
bool is_unconditional(const Event& event) {
  return event.guard == nullptr;
}

bool is_literal(const Object* object) {
  if (object != nullptr && object->callee == "str" && object->made_by != nullptr && !object->made_by->list.empty())
    object = main_of(object->made_by->list.front().value);
  const Node around = object == nullptr ? Node() : object->node.parent();
  if (around.is("default_parameter") || around.is("typed_default_parameter")) return false;  // an argument decides
  return object != nullptr && object->constant && (object->type == Type::kText || object->type == Type::kNumber);
}

bool is_launcher_variable(std::string_view name) {
  return std::ranges::find(kLauncherVariables, name) != kLauncherVariables.end();
}

// for name, value in SETTINGS.items(): os.environ[name] = value
bool sets_from_a_dict(const Event& set) {
  const Object* over = set.loop == nullptr ? nullptr : main_of(set.loop->iterable);
  if (over == nullptr || over->callee != ".items" || over->receiver == nullptr) return false;
  return std::ranges::any_of(over->receiver->members, [](const auto& member) {
    return is_launcher_variable(member.first) && is_literal(main_of(member.second));
  });
}

// A function from elsewhere that may close the group.
bool closes_elsewhere(const Program& program) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kCall) || event.callee.starts_with("torch.")) continue;
      const std::string_view name = last_part(event.callee);
      for (const std::string_view word :
           {"cleanup", "clean_up", "teardown", "shutdown", "destroy", "finalize", "end_training"}) {
        if (contains_ignoring_case(name, word)) return true;
      }
    }
  }
  return false;
}

}  // namespace

void process_group_not_destroyed(const Program& program, Findings& findings) {
  if (program.may_call("torch.distributed.destroy_process_group") || program.may_call(".destroy_process_group") ||
      program.uses_accelerate())
    return;
  const bool has_entry = std::ranges::any_of(program.files(), [](const auto& file) { return file->has_entry; });
  if (!has_entry || closes_elsewhere(program)) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kInitGroup)) findings.at(event);
    }
  }
}

namespace {

// A job on one host that picks its port itself.
bool finds_a_port(const Program& program) {
  return std::ranges::any_of(program.traces(), [](const Trace& trace) {
    return std::ranges::any_of(trace.events, [](const Event& event) {
      return (event.is(EventKind::kCall) || event.is(EventKind::kEnter)) && contains(event.callee, "port") &&
             (contains(event.callee, "free") || contains(event.callee, "open") || contains(event.callee, "unused"));
    });
  });
}

}  // namespace

void hardcoded_rendezvous(const Program& program, Findings& findings) {
  if (program.calls("torch.multiprocessing.spawn") || finds_a_port(program) || !reads_launcher_variables(program))
    return;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!is_unconditional(event)) continue;
      if (event.is(EventKind::kSetItem) && event.callee == "os.environ") {
        const Object* key = event.argument("", 0);
        const bool named = key != nullptr && is_literal(event.argument("", 1)) && is_launcher_variable(key->name);
        if (named || sets_from_a_dict(event)) findings.at(event);
      } else if (event.callee == "os.environ.update") {
        const Object* all = event.argument("", 0);
        for (const std::string_view name : kLauncherVariables) {
          if (all != nullptr && is_literal(main_of(all->member(name)))) findings.at(event);
        }
      } else if (event.is(EventKind::kInitGroup)) {
        const Object* method = event.argument("init_method", 1);
        const bool address = is_literal(method) && method->name.starts_with("tcp://");
        if (address || is_literal(event.argument("world_size", 3))) findings.at(event);
      }
    }
  }
}

}  // namespace fx::knowledge::checks
