#include "tools/validate_config.h"

#include <nlohmann/json.hpp>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/formats/effective.h"
#include "knowledge/rules/repair.h"
#include "tools/config_context.h"

namespace fx::tools {
namespace {

struct Arguments {
  std::string text, filename;
  ConfigContext context;
};

const Fields<Arguments>& argument_fields() {
  static const Fields<Arguments> fields =
      Fields<Arguments>{}
          .add("text", &Arguments::text, "the configuration, launch command or script, as it is")
          .required()
          .add("filename", &Arguments::filename, "its file name, only a hint")
          .add("context", &Arguments::context, "what is known about the run beside the text", config_context_fields());
  return fields;
}

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"applicable":{"type":"boolean"},"format":{"type":"string"},
"findings":{"type":"array","items":{"type":"object","properties":{"rule":{"type":"string"},"severity":{"type":"string"},
"key":{"type":"string"},"line":{"type":"integer"},"column":{"type":"integer"},"message":{"type":"string"},
"fix":{"type":"string"},"patch":{"type":"array","items":{"type":"object","properties":{"start_line":{"type":"integer"},
"start_column":{"type":"integer"},"end_line":{"type":"integer"},"end_column":{"type":"integer"},
"replacement":{"type":"string"}}}},"sources":{"type":"array","items":{"type":"string"}}}}},
"fixed_text":{"type":"string"},"fixed_text_withheld":{"type":"string"},
"effective":{"type":"object"},"reason":{"type":"string"},"seems":{"type":"string"},"pointer":{"type":"string"}},
"required":["applicable","format","findings"]})";

Result<Json> handle(const Json& json, ToolContext&) {
  auto arguments = argument_fields().parse(json);
  if (!arguments) return arguments.error();
  const knowledge::Input input =
      knowledge::read_input(arguments->text, arguments->filename, to_context(arguments->context));
  Json out;
  out["applicable"] = input.applicable;
  out["format"] = input.applicable ? std::string(knowledge::to_string(input.format)) : "not-applicable";
  const knowledge::Repair repair = knowledge::repair(input);
  out["findings"] = fx::to_json(repair.findings);
  if (repair.text) out["fixed_text"] = valid_utf8(*repair.text);
  if (!repair.withheld.empty()) out["fixed_text_withheld"] = repair.withheld;
  if (input.applicable) out["effective"] = knowledge::to_json(knowledge::effective_run(input).run);
  if (!input.applicable) {
    out["reason"] = "Not a training or launch configuration that this tool covers.";
    out["seems"] = input.seems;
    out["pointer"] = input.pointer;
  }
  return out;
}

}  // namespace

Tool validate_config_tool() {
  Tool tool;
  tool.name = "validate_config";
  tool.description =
      "Checks a training configuration, launch command, sbatch script or environment file (accelerate, Trainer, "
      "axolotl, "
      "torchtitan, torchtune, verl, slime, DeepSpeed, LLaMA-Factory, torchrun, our own run spec) for what fails, hangs or is silently "
      "ignored. "
      "Returns the exact line, the reason and the fix, and says so when the text is none of these.";
  tool.input_schema = to_text(schema_of(argument_fields().infos()));
  tool.output_schema = std::string(kOutputSchema);
  tool.read_only = true;
  tool.handler = handle;
  return tool;
}

}  // namespace fx::tools
