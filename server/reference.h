// The reference pages of docs/reference, made from the catalogue and the tables they describe.
#pragma once

#include <string>
#include <vector>

#include "tools/tool.h"

namespace fx::server {

struct ReferencePage {
  std::string name;  // file name in docs/reference
  std::string text;
};

// command_line_help: what --help prints for all commands.
std::vector<ReferencePage> reference_pages(const std::vector<tools::Tool>& catalogue,
                                           const std::string& command_line_help);

}  // namespace fx::server
