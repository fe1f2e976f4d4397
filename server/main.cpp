#include <csignal>
#include <cstdio>
#include <exception>

#include "server/command_line.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed reader is an error of write(), not our end
  try {
    return fx::server::run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fsdp-expert: internal error: %s\n", error.what());
    return 70;
  }
}
