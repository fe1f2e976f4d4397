// `review-code FILE...`: a linter for distributed training code.
#pragma once

#include <string>
#include <vector>

#include "server/commands/ask.h"

namespace fx::server {

struct ReviewCodeOptions {
  std::vector<std::string> files;  // of one program
  std::string format = "text";     // text, json, sarif
  std::string config;              // file the code is launched with; empty: none
  std::string world, torch;        // "2x8", "2.8"; empty: unknown
};

// Exit code 1 when there is an error among the findings.
int review_code_command(Session& session, const ReviewCodeOptions& options);

}  // namespace fx::server
