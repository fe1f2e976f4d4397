#pragma once

#include "tools/tool.h"

namespace fx::tools {

// Where a run stands: state, step, loss, speed, ranks, newest events.
Tool run_status_tool();

}  // namespace fx::tools
