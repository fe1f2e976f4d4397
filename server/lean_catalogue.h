// The whole catalogue behind one tool, for clients that put every tool's schema into every conversation: the one costs
// about as much as a line of text, and a model that wants more asks for it.
#pragma once

#include <vector>

#include "tools/tool.h"

namespace fx::server {

// A list of one: fsdp(op, args). op is a name of the catalogue, and args what that tool takes; op "help", or none,
// lists all, with args {"op": name} one tool's schema. Answers and errors are the tool's own. The catalogue must
// outlive it.
std::vector<tools::Tool> lean_catalogue(const std::vector<tools::Tool>& catalogue);

}  // namespace fx::server
