#pragma once

#include "tools/tool.h"

namespace fx::tools {

// Starts a sharded fine-tune on this machine, or queues it; returns at once.
Tool launch_run_tool();

}  // namespace fx::tools
