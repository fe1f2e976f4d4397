#pragma once

#include "tools/tool.h"

namespace fx::tools {

// Python training code -> defects with file, line, consequence and fix.
Tool review_code_tool();

}  // namespace fx::tools
