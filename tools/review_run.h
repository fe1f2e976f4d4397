#pragma once

#include "tools/tool.h"

namespace fx::tools {

// Judges a run by its events and logs: verdict, findings, curves, plan against measurement, cause of a failure.
Tool review_run_tool();

}  // namespace fx::tools
