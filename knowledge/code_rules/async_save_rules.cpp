// The future of dcp.async_save, and the backend it needs.
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool awaits_somewhere(const Program& program) {
  for (const std::string_view name : {".result", ".wait", ".exception", "concurrent.futures.wait",
                                      "concurrent.futures.as_completed", "asyncio.wrap_future"}) {
    if (program.may_call(name)) return true;
  }
  return false;
}

// The statement is the bare call: nothing can hold the future.
bool is_dropped(const Event& save) {
  return save.node.parent().is("expression_statement");
}

// `return dcp.async_save(...)` of a function nobody calls here: who calls it gets the future.
bool is_handed_out(const Trace& trace, const Event& save) {
  const bool outermost = save.frame != nullptr && save.frame->depth <= 1;
  return !trace.from_entry && outermost && save.node.parent().is("return_statement");
}

bool awaited_between(const Trace& trace, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t i = from; i < to && i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.is(EventKind::kAwait) || event.callee == "concurrent.futures.wait") return true;
  }
  return false;
}

// A later turn saves again, or the group is closed or the script ends, with nothing awaited since.
bool is_lost(const Trace& trace, const Event& save) {
  for (std::uint32_t i = save.index + 1; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.is(EventKind::kAwait)) return false;
    const bool again = event.is(EventKind::kDcpAsyncSave) && event.node == save.node;
    if ((again || event.is(EventKind::kDestroyGroup)) && compatible(event, save))
      return !awaited_between(trace, save.index, i);
  }
  return trace.from_entry && trace.complete && !save.file->cut_off;
}

}  // namespace

void async_save_not_awaited(const Program& program, Findings& findings) {
  const bool awaits = awaits_somewhere(program);
  for (const Trace& trace : program.traces()) {
    for (const Event& save : trace.events) {
      if (!save.is(EventKind::kDcpAsyncSave) || is_handed_out(trace, save)) continue;
      if (is_dropped(save)) {
        findings.at(save, "Nothing keeps the future.");
      } else if (!awaits) {
        findings.at(save, "Nothing waits for the future.");
      } else if (is_lost(trace, save)) {
        findings.at(save, "Not every save is awaited: not before the next one, or not before the end.");
      }
    }
  }
}

void async_save_no_cpu_backend(const Program& program, Findings& findings) {
  if (program.backends().empty()) return;
  for (const std::string& backend : program.backends()) {
    if (backend != "nccl") return;
  }
  for (const Trace& trace : program.traces()) {
    for (const Event& save : trace.events) {
      if (!save.is(EventKind::kDcpAsyncSave)) continue;
      const Object* group = save.argument("process_group");
      if (group == nullptr || group->type == Type::kNone) findings.at(save);
    }
  }
}

}  // namespace fx::knowledge::checks
