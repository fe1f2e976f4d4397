// Everything the causes reason over: the kept lines, the events read from them, and what follows from their order.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/log/collective_events.h"
#include "knowledge/log/desync.h"
#include "knowledge/log/event.h"
#include "knowledge/log/log_book.h"
#include "knowledge/log/phase.h"
#include "knowledge/log/scope.h"
#include "knowledge/log/thread_stack.h"

namespace fx::knowledge {

// The job's settings as key -> value text in lower case; nested keys joined by '.', and also by their last part.
using JobConfig = std::map<std::string, std::string>;

struct Scene {
  LogBook book;
  JobConfig config;
  std::vector<CollectiveTimeout> timeouts;
  std::vector<WorkStatus> status;
  std::vector<RunningCollective> running;
  std::vector<ProcessExit> exits;
  std::vector<GpuOom> ooms;
  std::vector<ExceptionEvent> exceptions;
  std::vector<StepEvent> steps;
  std::vector<ThreadStack> stacks;
  std::set<int> ranks;  // that speak or are spoken of
  int world = -1;
  Desync desync;
  Scope scope;
  std::vector<bool> code;  // one a line of the book: it stands in a traceback

  std::string setting(const std::string& key) const;  // "" when not set
  // The exception whose own line this is, nullptr if none.
  const ExceptionEvent* exception_at(int line) const;
  // True for a frame of an exception or its code line: code, not what a program says.
  bool in_traceback(int line) const;
  // Phase of an exception: its frames, else the last announcement above it (by the same rank or by nobody in
  // particular).
  Phase phase_at(int line) const;
  // The line that decided phase_at, -1 if none.
  int phase_line(int line) const;
  bool stepped_before(int line) const;
  // The rank of a process that left with an error of its own (not aborted or closed by others): the one such rank, else
  // -1.
  int failed_by_itself() const;
  // The rank a set of lines speaks for: exactly one, else nullopt. Lines without a rank are helped by
  // failed_by_itself().
  std::optional<int> one_rank(const std::vector<int>& lines) const;
  int first_timeout() const { return timeouts.empty() ? -1 : timeouts.front().line; }
};

// The marks that the events are read from.
std::vector<Mark> core_marks();
Scene make_scene(LogBook book, JobConfig config);

}  // namespace fx::knowledge
