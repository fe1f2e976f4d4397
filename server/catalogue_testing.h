// A small catalogue for tests of what carries tools: it holds one tool for each way in which a call can end.
#pragma once

#include <vector>

#include "tools/tool.h"

namespace fx::server {

// echo: gives its arguments back. refuse: invalid argument. missing: not found. broken: throws.
std::vector<tools::Tool> testing_catalogue();

}  // namespace fx::server
