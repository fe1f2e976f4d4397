#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

extern char** environ;

namespace fx {
namespace {

// Everything that the child needs, prepared before fork: only async-signal-safe calls happen after it.
struct Prepared {
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> envp;
};

Prepared prepare(const ProcessSpec& spec) {
  Prepared out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (spec.extra_environment.count(text.substr(0, text.find('='))) == 0) out.environment.push_back(text);
  }
  for (const auto& [key, value] : spec.extra_environment) out.environment.push_back(key + "=" + value);
  for (const auto& word : spec.command) out.argv.push_back(const_cast<char*>(word.c_str()));
  for (auto& entry : out.environment) out.envp.push_back(entry.data());
  out.argv.push_back(nullptr);
  out.envp.push_back(nullptr);
  return out;
}

[[noreturn]] void run_child(const ProcessSpec& spec, Prepared& prepared, int error_pipe, pid_t parent) {
  const auto fail = [error_pipe] {
    const int code = errno;
    [[maybe_unused]] const ssize_t wrote = ::write(error_pipe, &code, sizeof code);
    ::_exit(127);
  };
  if (spec.own_group) ::setpgid(0, 0);
  if (spec.dies_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
  }
  if (!spec.folder.empty() && ::chdir(spec.folder.c_str()) != 0) fail();
  const int input = ::open("/dev/null", O_RDONLY);
  if (input >= 0) ::dup2(input, 0);
  if (!spec.output.empty()) {
    const int output = ::open(spec.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (output < 0) fail();
    ::dup2(output, 1);
    ::dup2(output, 2);
  }
  // A listening socket that leaked into a process which outlives us would keep our port taken.
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
    for (int fd = 3; fd < 1024; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  environ = prepared.envp.data();
  ::execvp(prepared.argv[0], prepared.argv.data());
  fail();
  ::_exit(127);
}

Error start_error(const ProcessSpec& spec, int code) {
  const std::string program = spec.command.front();
  if (code == ENOENT) return not_found("cannot run " + program + ": not found", "build or install it first");
  return unavailable("cannot run " + program + ": " + std::strerror(code));
}

// Fields of /proc/PID/stat behind the program's name, by proc(5)'s numbers less 3; empty when there is no such process.
constexpr std::size_t kState = 3 - 3, kStartTime = 22 - 3;
std::vector<std::string> stat_fields(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  const auto name_end = text.rfind(')');  // the program's name may hold blanks and brackets
  if (pid <= 0 || name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

std::optional<ExitStatus> decode_status(int status) {
  if (WIFEXITED(status)) return ExitStatus{WEXITSTATUS(status), std::nullopt};
  if (WIFSIGNALED(status)) return ExitStatus{std::nullopt, WTERMSIG(status)};
  return std::nullopt;
}

}  // namespace

std::string describe(const ExitStatus& status) {
  if (status.code) return "exit code " + std::to_string(*status.code);
  const int number = status.signal.value_or(0);
  const char* name = ::sigabbrev_np(number);
  return "killed by signal " + std::to_string(number) + " (SIG" + (name != nullptr ? name : "?") + ")";
}

Result<pid_t> start_process(const ProcessSpec& spec) {
  if (spec.command.empty()) return internal_error("start_process without a command");
  Prepared prepared = prepare(spec);
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0)
    return unavailable(std::string("cannot make a pipe: ") + std::strerror(errno));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(pipe_ends[0]);
    run_child(spec, prepared, pipe_ends[1], parent);
  }
  ::close(pipe_ends[1]);
  if (pid < 0) {
    ::close(pipe_ends[0]);
    return unavailable(std::string("cannot start a process: ") + std::strerror(errno));
  }
  if (spec.own_group) ::setpgid(pid, pid);
  int code = 0;
  const ssize_t got = ::read(pipe_ends[0], &code, sizeof code);
  ::close(pipe_ends[0]);
  if (got == static_cast<ssize_t>(sizeof code)) {
    ::waitpid(pid, nullptr, 0);
    return start_error(spec, code);
  }
  return pid;
}

std::optional<ExitStatus> poll_process(pid_t pid) {
  int status = 0;
  const pid_t got = ::waitpid(pid, &status, WNOHANG);
  if (got == pid) return decode_status(status);
  if (got < 0 && errno == ECHILD) return ExitStatus{-1, std::nullopt};
  return std::nullopt;
}

ExitStatus wait_process(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return {-1, std::nullopt};
  }
  return decode_status(status).value_or(ExitStatus{-1, std::nullopt});
}

void signal_group(pid_t leader, int signal) {
  if (leader > 1) ::kill(-leader, signal);
}

std::string process_birth(pid_t pid) {
  const auto fields = stat_fields(pid);
  if (fields.size() <= kStartTime || fields[kState] == "Z" || fields[kState] == "X") return {};
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot + ":" + fields[kStartTime];
}

char process_state(pid_t pid) {
  const auto fields = stat_fields(pid);
  return fields.empty() ? '\0' : fields[kState].front();
}

Result<pid_t> start_detached(const ProcessSpec& spec) {
  // The middle process starts the real one, reports its pid and ends, so that init adopts it.
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0)
    return unavailable(std::string("cannot make a pipe: ") + std::strerror(errno));
  const pid_t middle = ::fork();
  if (middle == 0) {
    ::setsid();
    const auto started = start_process(spec);
    const pid_t pid = started ? *started : -1;
    [[maybe_unused]] const ssize_t wrote = ::write(pipe_ends[1], &pid, sizeof pid);
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  pid_t pid = -1;
  const ssize_t got = middle > 0 ? ::read(pipe_ends[0], &pid, sizeof pid) : -1;
  ::close(pipe_ends[0]);
  if (middle > 0) ::waitpid(middle, nullptr, 0);
  if (got != static_cast<ssize_t>(sizeof pid) || pid <= 0) return start_error(spec, ENOENT);
  return pid;
}

}  // namespace fx
