// `convert FILE --to FORMAT`: a training configuration in another framework's words.
#pragma once

#include <string>

#include "server/commands/ask.h"

namespace fx::server {

struct ConvertOptions {
  std::string file;  // "-": standard input
  std::string to;
  std::string out;                            // empty: standard output
  int fsdp_version = 0, gpus = 0, nodes = 0;  // 0: not given
  bool json = false;
};

// The text goes to standard output or the file, what was lost and assumed to standard error. Exit code 1 when there is
// nothing to write: the source has errors, or is no training configuration.
int convert_command(Session& session, const ConvertOptions& options);

}  // namespace fx::server
