#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {
namespace {

// The main thread and the background save of one rank, both in a collective.
Claim two_threads(const Scene& s) {
  Claim out;
  for (const auto& save : s.stacks) {
    if (!in_collective(save) || !matches_any("async|executor|background|ckpt|checkpoint|save", save.thread)) continue;
    for (const auto& main : s.stacks) {
      const bool same = main.rank == save.rank && main.thread == "mainthread";
      if (!same || !in_collective(main)) continue;
      out.score = 0.94;
      out.show(save.line);
      for (const auto* stack : {&main, &save}) {
        for (std::size_t i = 0; i < stack->lines.size() && i < 2; ++i) out.show(stack->lines[i]);
      }
    }
  }
  return out;
}

// The save was the last thing announced before the stall: no step came after it.
bool stopped_in_save(const Scene& s, const MarkView& m) {
  const auto stalls = stall_signs(s);
  return !stalls.empty() && std::none_of(s.steps.begin(), s.steps.end(), [&](const StepEvent& step) {
    return step.line > m("async").last() && step.line < stalls.front();
  });
}

// A background save's collective met one of the training thread's: one group serves both.
Claim threads_meet(const Scene& s) {
  const auto own = s.book.lines_matching(
      "async*thread: *gather|async*thread: *all_|async*thread: *broadcast|ckpt*thread: *gather|ckpt*thread: *all_|"
      "checkpoint thread: *gather|background*thread: *gather|background*thread: *all_",
      4);
  if (!own.empty() && !s.desync.differing.empty()) {
    Claim out;
    out.score = 0.92;
    for (const int line : own) out.show(line);
    for (const int line : s.desync.lines) {
      if (out.lines.size() < 6) out.show(line);
    }
    return out;
  }
  return {};
}

Claim evaluate(const Scene& s, const MarkView& m) {
  if (Claim seen = two_threads(s); seen.score > 0) return seen;
  // The background thread talks on the group that the training thread uses, too.
  const auto talking = s.book.lines_matching(
      "asynccheckpointexecutor*barrier|asynccheckpointexecutor*all_|asynccheckpointexecutor*gather", 4);
  if (!talking.empty() && !stall_signs(s).empty()) {
    Claim out;
    out.score = 0.94;
    for (const int line : talking) out.show(line);
    return out;
  }
  if (!m("async")) return {};
  if (Claim met = threads_meet(s); met.score > 0) return met;
  // Announced, and then the ranks run different collectives.
  if (!s.desync.differing.empty() && s.book.mentions("async_save|async save|asynccheckpoint") &&
      stopped_in_save(s, m)) {
    Claim out = claim(0.8, m("async"), 3);
    for (const int line : s.desync.lines) {
      if (out.lines.size() < 6) out.show(line);
    }
    return out;
  }
  std::vector<int> failed;
  for (const int line : m("failed").lines) {
    if (matches_any("error|exception|assert|failed|detected missing", s.book.at(line).low)) failed.push_back(line);
  }
  const bool named = s.book.mentions(
      "async_mode|_async_process|async_save|asynccheckpoint|async_checkpoint|async save|ckpt-thread|async checkpoint|_async_executor|_async_thread|async_thread|ckpt-async|exception in thread*ckpt|exception in thread*save|background process|background "
      "save|checkpoint thread|_async_thread_executor|_async_process_executor|async_thread|async_process");
  if (failed.empty() || !named) return {};
  // A full disk or a missing file in the background save is that fault, not the group's.
  if (s.book.mentions("no space left|quota|stale file|permission denied")) return {};
  Claim out;
  out.score = 0.93;
  for (const int line : failed) {
    if (out.lines.size() < 4) out.show(line);
  }
  return out.show(m("async"), 3);
}

}  // namespace

CauseRule async_save_process_group() {
  return {
      "async-save-process-group",
      {{"async",
        "async_mode|_async_process|_async_thread|background process|async_save|async save|asynccheckpoint|ckpt-thread|checkpoint thread|async_checkpoint"
        "|background thread|background save|background*checkpoint|asynccheckpointexecutor"
        "|async_executor|asynchronous*checkpoint|async checkpoint|save thread|exception in thread"},
       {"failed",
        "connection closed by peer|connection reset|no backend type|missing ranks|process group"
        "|default process group|gather_object|cpu backend|gloo|already been destroyed|invalid usage|interleaved|hangs"
        "|background process is dead|while waiting for response from checkpointer|dcp needs master_|not been initialized|destroy_process_group|timed out"}},
      evaluate};
}

}  // namespace fx::knowledge
