#include "engine/bench/self_launch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "base/process.h"
#include "engine/train/train_command.h"

namespace fx::engine {
namespace {

// A TCP port of 127.0.0.1 that nobody uses just now; 0 when there is none.
int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  close(fd);
  return found ? ntohs(address.sin_port) : 0;
}

}  // namespace

int launch_self(int ranks, const std::vector<std::string>& command, const std::vector<std::string>& arguments) {
  ProcessSpec process;
  process.command = {std::filesystem::read_symlink("/proc/self/exe").string()};
  process.command.insert(process.command.end(), command.begin(), command.end());
  process.command.insert(process.command.end(), arguments.begin(), arguments.end());
  process.dies_with_parent = true;
  process.extra_environment = {{"WORLD_SIZE", std::to_string(ranks)},
                               {"MASTER_ADDR", "127.0.0.1"},
                               {"MASTER_PORT", std::to_string(free_port())},
                               {"OMP_NUM_THREADS", "1"}};
  std::vector<pid_t> started;
  for (int rank = 0; rank < ranks; ++rank) {
    process.extra_environment["RANK"] = process.extra_environment["LOCAL_RANK"] = std::to_string(rank);
    const auto pid = start_process(process);
    if (!pid) return print_failure(pid.error());
    started.push_back(*pid);
  }
  int code = 0;
  for (const pid_t pid : started) {
    const ExitStatus status = wait_process(pid);
    if (code == 0 && !status.ok()) code = status.code.value_or(70);
  }
  return code;
}

}  // namespace fx::engine
