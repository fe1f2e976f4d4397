// plan_finetune: memory, speed, fit and settings of a fine-tune before it is started.
#pragma once

#include <string>

#include "tools/tool.h"

namespace fx::tools {

Tool plan_finetune_tool();

// The tool without the catalogue: arguments object to result object.
Result<Json> plan_finetune(const Json& arguments);

// A result of plan_finetune as a short table for people.
std::string plan_text(const Json& result);

}  // namespace fx::tools
