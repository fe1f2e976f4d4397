#pragma once

#include "tools/tool.h"

namespace fx::tools {

// Facts, rules and causes that answer a question, with sources; or "not applicable" with a pointer.
Tool search_knowledge_tool();

}  // namespace fx::tools
