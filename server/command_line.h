// The command line: what a person or a script types. Returns the process's exit code.
#pragma once

namespace fx::server {

// 0: an answer; 1: validate found errors; 2: bad arguments; 70: our own fault; others: base/error.cpp.
int run_command_line(int argc, char** argv);

}  // namespace fx::server
