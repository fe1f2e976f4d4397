// Reads where threads stood: py-spy dumps and Python's faulthandler.
#pragma once

#include <string>
#include <vector>

#include "knowledge/log/log_book.h"

namespace fx::knowledge {

struct ThreadStack {
  int line = 0;  // its head
  int rank = -1;
  std::string thread;      // name, lower case; empty when the dump gives none
  std::string frames;      // functions and files in lower case, innermost first, separated by blanks
  std::vector<int> lines;  // of the frames
};

const std::vector<Mark>& stack_marks();
std::vector<ThreadStack> read_thread_stacks(const LogBook& book);

// True when the innermost frames wait in a collective.
bool in_collective(const ThreadStack& stack);

}  // namespace fx::knowledge
