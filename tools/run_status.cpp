#include "tools/run_status.h"

#include <nlohmann/json.hpp>

#include "tools/run_answer.h"

namespace fx::tools {

Tool run_status_tool() {
  Tool tool;
  tool.name = "run_status";
  tool.description =
      "Tells where a launched run stands: state, step, loss, tokens per second, time left, memory of each rank, newest "
      "events, whether it stands still and which rank is held, and the cause when it has failed.";
  tool.input_schema = run_arguments_schema();
  tool.handler = [](const Json& arguments, ToolContext& context) -> Result<Json> {
    const auto parsed = parse_run_arguments(arguments);
    if (!parsed) return parsed.error();
    const auto run = wait_for_change(context.runs, *parsed);
    if (!run) return run.error();
    return run_answer(*run);
  };
  return tool;
}

}  // namespace fx::tools
