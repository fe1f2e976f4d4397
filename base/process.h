// Child processes: start, watch, end. No shell is ever involved.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fx {

struct ProcessSpec {
  std::vector<std::string> command;                      // absolute path or a name found in PATH, then its arguments
  std::map<std::string, std::string> extra_environment;  // added to ours
  std::filesystem::path folder;                          // working folder; empty: ours
  std::filesystem::path output;   // standard output and error go here (appended); empty: inherited
  bool own_group = true;          // its own process group, so that kill_group reaches its children
  bool dies_with_parent = false;  // gets SIGKILL when the thread that started it ends (Linux)
};

// How a process ended: exactly one of the two is set.
struct ExitStatus {
  std::optional<int> code;
  std::optional<int> signal;
  bool ok() const { return code == 0; }
};
std::string describe(const ExitStatus& status);  // "exit code 1", "killed by signal 9 (SIGKILL)"

// Starts it; standard input is /dev/null. Errors: kNotFound when the program cannot be run.
Result<pid_t> start_process(const ProcessSpec& spec);
// nullopt while it runs. Must be called by the process that started it; afterwards the pid is gone.
std::optional<ExitStatus> poll_process(pid_t pid);
ExitStatus wait_process(pid_t pid);
void signal_group(pid_t leader, int signal);
// Tells a process from a later one with the same pid: boot and start time. Empty when it has ended (a zombie has) or
// never was.
std::string process_birth(pid_t pid);

// The letter of /proc/PID/stat: R, S, D (waits for a disk or device), T (stopped by a signal), t (held by a debugger),
// Z. 0 when there is no such process.
char process_state(pid_t pid);

// A second process that outlives us: new session, no controlling terminal, re-parented. Returns its pid.
Result<pid_t> start_detached(const ProcessSpec& spec);

}  // namespace fx
