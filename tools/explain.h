#pragma once

#include "tools/tool.h"

namespace fx::tools {

// One fact, rule page or cause page by its id.
Tool explain_tool();

}  // namespace fx::tools
