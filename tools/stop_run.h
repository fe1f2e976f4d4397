#pragma once

#include "tools/tool.h"

namespace fx::tools {

// Asks a run to write a checkpoint and end.
Tool stop_run_tool();

}  // namespace fx::tools
