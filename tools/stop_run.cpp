#include "tools/stop_run.h"

#include <nlohmann/json.hpp>

#include "tools/run_answer.h"

namespace fx::tools {

Tool stop_run_tool() {
  Tool tool;
  tool.name = "stop_run";
  tool.description =
      "Ends a launched run: training stops after the current step with a checkpoint from which it can be resumed; a "
      "queued "
      "run does not begin. Ask the user first.";
  tool.input_schema = run_arguments_schema();
  tool.read_only = false;
  tool.handler = [](const Json& arguments, ToolContext& context) -> Result<Json> {
    const auto parsed = parse_run_arguments(arguments);
    if (!parsed) return parsed.error();
    if (const auto asked = context.runs.stop(parsed->run_id); !asked) return asked.error();
    const auto run = wait_for_end(context.runs, *parsed);
    if (!run) return run.error();
    Json out = run_answer(*run);
    out["stop_requested"] = true;
    return out;
  };
  return tool;
}

}  // namespace fx::tools
