#include "knowledge/log/exit_events.h"

#include <array>
#include <utility>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 12> kSignals{{{"sighup", 1},
                                                                     {"sigint", 2},
                                                                     {"sigquit", 3},
                                                                     {"sigill", 4},
                                                                     {"sigabrt", 6},
                                                                     {"sigbus", 7},
                                                                     {"sigfpe", 8},
                                                                     {"sigkill", 9},
                                                                     {"sigusr1", 10},
                                                                     {"sigsegv", 11},
                                                                     {"sigusr2", 12},
                                                                     {"sigterm", 15}}};

// "signal 9", "SIGKILL", "exitcode: -9", "exit code 137": the signal a line names, 0 when none.
int signal_in(std::string_view low) {
  for (const auto& [name, number] : kSignals) {
    if (low.find(name) != std::string_view::npos) return number;
  }
  for (const std::string_view key : {"signal ", "signal: "}) {
    if (const auto number = integer_after(low, key); number && *number > 0 && *number < 65)
      return static_cast<int>(*number);
  }
  return 0;
}

void set_status(ProcessExit& exit, long long code) {
  if (code < 0 && code > -65) {
    exit.signal = static_cast<int>(-code);
  } else if (code > 128 && code < 128 + 65) {
    exit.signal = static_cast<int>(code - 128);
  } else if (code >= 0 && code < 256) {
    exit.code = static_cast<int>(code);
  }
}

// The block of torchrun's summary: "rank : 2 (local_rank: 2)", then "exitcode : -6 (pid: 61272)".
void read_summary_rows(const LogBook& book, std::vector<ProcessExit>& out) {
  bool root = false;
  int rank = -1, local = -1;
  int last_line = -1;
  for (const int index : book.find("core", "summary").lines) {
    const auto& low = book.at(index).low;
    if (low.find("root cause (first observed failure)") != std::string::npos) {
      root = true;
    } else if (low.find("exitcode") == std::string::npos) {
      rank = static_cast<int>(integer_after(low, "rank      :").value_or(integer_after(low, "rank:").value_or(-1)));
      local = static_cast<int>(integer_after(low, "local_rank:").value_or(-1));
      last_line = index;
    } else if (last_line >= 0) {
      ProcessExit exit;
      exit.line = index;
      exit.rank = rank;
      exit.local_rank = local;
      exit.pid = integer_after(low, "pid:").value_or(-1);
      set_status(exit, integer_after(low, "exitcode  :").value_or(integer_after(low, ":").value_or(0)));
      exit.claimed_root = root;
      out.push_back(exit);
      last_line = -1;
    }
  }
}

}  // namespace

const std::vector<Mark>& exit_marks() {
  static const std::vector<Mark> marks{
      {"summary", "rank      :*(local_rank:|exitcode  :*(pid:|root cause (first observed failure)"},
      {"exit",
       "failed (exitcode:*local_rank:|exited with exit code|exit code*rank|rank*exit code|killed by signal|rank*killed"
       "|terminated with signal|terminated with exit code|task*exited with|returned non-zero exit "
       "status|process*died*signal"
       "|died with <signals|child process*terminated with code|exits with return code|exit_code=|task*: killed"
       "|task*out of memory|task*segmentation fault|line *: * killed"},
      {"closing", "closing signal"},
  };
  return marks;
}

std::vector<ProcessExit> read_exits(const LogBook& book) {
  std::vector<ProcessExit> out;
  for (const int index : book.find("core", "exit").lines) {
    const auto& line = book.at(index);
    const auto& low = line.low;
    ProcessExit exit;
    exit.line = index;
    exit.local_rank = static_cast<int>(integer_after(low, "local_rank:").value_or(-1));
    for (const std::string_view key : {" rank ", "rank:", " task ", "task: ", "rank="}) {
      if (exit.rank < 0 && exit.local_rank < 0) exit.rank = static_cast<int>(integer_after(low, key).value_or(-1));
    }
    if (exit.rank < 0 && exit.local_rank < 0) exit.rank = line.rank;
    exit.pid = integer_after(low, "pid:").value_or(integer_after(low, "pid ").value_or(-1));
    bool coded = false;
    for (const std::string_view key : {"exitcode:", "exit code:", "exit code", "exit status",
                                       "exit_code=", "return code =", "return code", "with code"}) {
      if (const auto code = integer_after(low, key); code && !coded) set_status(exit, *code), coded = true;
    }
    if (exit.signal == 0 && exit.code == 0) exit.signal = signal_in(low);
    if (exit.signal == 0 && matches_any(": killed|line *: * killed", low)) exit.signal = 9;
    if (exit.signal == 0 && low.find("segmentation fault") != std::string::npos) exit.signal = 11;
    if (exit.code != 0 || exit.signal != 0) out.push_back(exit);
  }
  read_summary_rows(book, out);
  return out;
}

}  // namespace fx::knowledge
