// validate_config: what a training configuration or launch script really does, and what is wrong with it.
#pragma once

#include "tools/tool.h"

namespace fx::tools {

Tool validate_config_tool();

}  // namespace fx::tools
