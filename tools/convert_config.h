// convert_config: a training configuration in another framework's words, with what is lost on the way.
#pragma once

#include "tools/tool.h"

namespace fx::tools {

Tool convert_config_tool();

}  // namespace fx::tools
