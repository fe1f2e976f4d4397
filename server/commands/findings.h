// Findings of a tool's answer at a terminal, one line each, as compilers print them.
#pragma once

#include <string>

#include "spec/json.h"

namespace fx::server {

// file: for findings that name none. Says so when the answer is "not applicable".
void print_findings(const std::string& file, const Json& answer);
int count_errors(const Json& answer);

}  // namespace fx::server
