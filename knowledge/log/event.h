// The events of a run, as its logs tell them. line is an index into LogBook::lines; rank -1 means that the log does not
// say.
#pragma once

#include <string>
#include <vector>

namespace fx::knowledge {

// A watchdog (or our engine) says that a collective did not finish in time.
struct CollectiveTimeout {
  int line = 0;
  int rank = -1;
  long long sequence = -1;
  std::string operation;  // "_ALLGATHER_BASE", in capitals
  long long elements_in = -1;
  long long elements_out = -1;
  double timeout_s = -1;
  std::string group;  // process group, empty when not said
};

// How far a rank came in one process group.
struct WorkStatus {
  int line = 0;
  int rank = -1;
  std::string group;
  long long enqueued = -1;
  long long completed = -1;
  long long failed = -1;  // the number at which its watchdog fired
};

// A process ended.
struct ProcessExit {
  int line = 0;
  int rank = -1;
  int local_rank = -1;
  long long pid = -1;
  int code = 0;               // exit code, when it left by itself
  int signal = 0;             // signal that ended it
  bool claimed_root = false;  // the launcher calls it the root cause
};

// The GPU allocator had no room. Bytes; -1: not said.
struct GpuOom {
  int line = 0;
  int rank = -1;
  int device = -1;
  double request = -1;
  double capacity = -1;
  double free = -1;
  double allocated = -1;          // by this process's PyTorch
  double reserved_unused = -1;    // reserved by PyTorch but unallocated
  double process = -1;            // whole use of this process
  std::vector<double> processes;  // what the driver says that each process on the device holds, as far as named
  bool warning = false;           // caught, only reported
};

// An exception's own line and the frames above it.
struct ExceptionEvent {
  int line = 0;
  int rank = -1;
  std::string type;         // as printed, module path included
  std::string message;      // lower case, at most 400 bytes
  std::vector<int> frames;  // lines of its traceback, outermost first (frames and their code lines)
};

// A progress line.
struct StepEvent {
  int line = 0;
  int rank = -1;
  long long step = -1;
  double loss = 0;
  bool has_loss = false;
  bool loss_finite = true;
};

}  // namespace fx::knowledge
