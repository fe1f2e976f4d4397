// For tests of knowledge/code: a program out of a few lines, and what its first trace did.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "knowledge/code/program.h"

namespace fx::knowledge::code {

// The import makes the request one that is executed.
inline std::unique_ptr<const Program> program_of(const std::string& text) {
  std::vector<InputFile> files;
  files.push_back({"train.py", "import torch.distributed as dist\n" + text});
  return Program::read(std::move(files), {});
}

inline std::unique_ptr<const Program> program_of_files(std::vector<InputFile> files) {
  return Program::read(std::move(files), {});
}

// Of all traces, in order.
inline std::vector<const Event*> events_of(const Program& program, EventKind kind) {
  std::vector<const Event*> found;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.is(kind)) found.push_back(&event);
    }
  }
  return found;
}

inline std::vector<std::string> callees_of(const Program& program) {
  std::vector<std::string> found;
  for (const Event* event : events_of(program, EventKind::kCall)) found.emplace_back(event->callee);
  return found;
}

// The first call of that callee; nullptr: none.
inline const Event* call_of(const Program& program, std::string_view callee) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.callee == callee) return &event;
    }
  }
  return nullptr;
}

}  // namespace fx::knowledge::code
