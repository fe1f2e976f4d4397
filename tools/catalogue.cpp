#include "tools/catalogue.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "tools/convert_config.h"
#include "tools/diagnose_failure.h"
#include "tools/explain.h"
#include "tools/launch_run.h"
#include "tools/plan_finetune.h"
#include "tools/review_code.h"
#include "tools/review_run.h"
#include "tools/run_status.h"
#include "tools/search_knowledge.h"
#include "tools/stop_run.h"
#include "tools/validate_config.h"

namespace fx::tools {

std::vector<Tool> make_catalogue() {
  return {
      validate_config_tool(), convert_config_tool(),   diagnose_failure_tool(), plan_finetune_tool(),
      review_code_tool(),     launch_run_tool(),       run_status_tool(),       stop_run_tool(),
      review_run_tool(),      search_knowledge_tool(), explain_tool(),
  };
}

const Tool* find_tool(const std::vector<Tool>& catalogue, std::string_view name) {
  for (const auto& tool : catalogue) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

Result<Json> call_tool(const Tool& tool, const Json& arguments, ToolContext& context) {
  if (!arguments.is_object()) return invalid_argument("", "the arguments must be a JSON object");
  try {
    return tool.handler(arguments, context);
  } catch (const std::exception& error) {
    return internal_error(tool.name + " failed: " + error.what());
  }
}

}  // namespace fx::tools
