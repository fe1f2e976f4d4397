// diagnose_failure: the root cause of a failed, hanging or slow run, with the log lines that prove it.
#pragma once

#include "knowledge/log/scene.h"
#include "tools/tool.h"

namespace fx::tools {

Tool diagnose_failure_tool();

// A config given as an object (nested keys joined by '.', and also under their last part) or as "key: value" text.
knowledge::JobConfig read_job_config(const Json& config);

}  // namespace fx::tools
