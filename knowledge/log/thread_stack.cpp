#include "knowledge/log/thread_stack.h"

#include <algorithm>

#include "base/text.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

constexpr int kFrames = 40;  // deeper ones tell nothing more
constexpr int kHeads = 6;    // so many lines above a stack may say whose it is

// "    barrier (torch/distributed/distributed_c10d.py:4635)" or "  File "x.py", line 3 in wait".
bool is_frame(std::string_view body) {
  return body.substr(0, 2) == "  " && matches_any("(*.py:*)|(*.pyx:*)|file \"*\", line * in_", to_lower(body));
}

std::string thread_name(std::string_view low) {
  const auto quote = low.find("): \"");
  if (quote == std::string_view::npos) return {};
  const auto from = quote + 4;
  return std::string(low.substr(from, low.find('"', from) - from));
}

bool names_thread(std::string_view low) {
  return matches_any("thread *(idle)|thread *(active|thread *(most recent call first)", low);
}

// The rank that a line above the stack names: "rank 0:", the command's comment, the process's arguments.
int named_rank(std::string_view low) {
  for (const std::string_view key : {"rank ", "rank=", "rank: ", "rank:", "rank"}) {
    if (const auto rank = integer_after(low, key); rank && *rank >= 0 && *rank < 1000000)
      return static_cast<int>(*rank);
  }
  return -1;
}

int rank_above(const LogBook& book, int frame) {
  for (int line = book.above(frame), left = kHeads; line >= 0 && left > 0; line = book.above(line), --left) {
    const auto& row = book.at(line);
    if (is_frame(row.body())) return -1;
    if (row.rank >= 0) return row.rank;
    if (const int rank = named_rank(row.low); rank >= 0) return rank;
  }
  return -1;
}

// A whole stack in one line: "rank 3: wait (a.py:4) <- step (b.py:8)".
bool is_inline(std::string_view low) {
  return matches_any("(*.py:*) <- *(*.py:*)|(*.py:*) < *(*.py:*)|(*.py:*); *(*.py:*)|(*.py:*) -> *(*.py:*)", low);
}

}  // namespace

const std::vector<Mark>& stack_marks() {
  static const std::vector<Mark> marks{{"stack_frame", "(*.py:*)"},
                                       {"stack", "thread *(most recent call first)|thread *(idle)|thread *(active"}};
  return marks;
}

std::vector<ThreadStack> read_thread_stacks(const LogBook& book) {
  std::vector<ThreadStack> out;
  std::vector<int> starts;
  for (const int line : book.find("core", "stack_frame").lines) starts.push_back(line);
  for (const int line : book.find("core", "stack").lines) {
    if (const int below = book.below(line); below >= 0) starts.push_back(below);
  }
  std::sort(starts.begin(), starts.end());
  int end = -1;  // the line behind the previous stack
  for (const int start : starts) {
    const auto& row = book.at(start);
    const int named = row.rank >= 0 ? row.rank : named_rank(row.low);
    if (start >= end && named >= 0 && is_inline(row.low)) {
      ThreadStack whole;
      whole.line = start;
      whole.rank = named;
      whole.frames = std::string(row.low_body());
      whole.lines = {start};
      out.push_back(std::move(whole));
      continue;
    }
    if (start < end || !is_frame(book.at(start).body())) continue;
    const int head = book.above(start);
    const bool thread = head >= 0 && names_thread(book.at(head).low);
    // A traceback's frames stand below its own head and are read with its exception.
    if (head < 0 || (!thread && book.at(head).low.find("traceback") != std::string::npos)) continue;
    ThreadStack stack;
    stack.line = head;
    stack.thread = thread ? thread_name(book.at(head).low) : "";
    stack.rank = book.at(start).rank >= 0 ? book.at(start).rank : rank_above(book, start);
    // The threads of one process follow each other.
    if (stack.rank < 0 && thread && !out.empty() && head - end <= 1) stack.rank = out.back().rank;
    int line = start;
    for (int count = 0; line >= 0 && count < kFrames && is_frame(book.at(line).body());
         line = book.below(line), ++count) {
      stack.frames += trim(book.at(line).low_body());
      stack.frames += ' ';
      stack.lines.push_back(line);
    }
    end = stack.lines.back() + 1;
    if (thread || stack.rank >= 0) out.push_back(std::move(stack));
  }
  return out;
}

bool in_collective(const ThreadStack& stack) {
  return matches_any("barrier|gather|reduce|broadcast|scatter|all_to_all|distributed_c10d|synchronize", stack.frames);
}

}  // namespace fx::knowledge
