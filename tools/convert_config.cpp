#include "tools/convert_config.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/convert/convert.h"
#include "tools/config_context.h"

namespace fx::tools {
namespace {

struct Arguments {
  std::string text, filename, to;
  long long fsdp_version = 0;
  ConfigContext context;
};

std::vector<std::string> accepted_names() {
  std::vector<std::string> names = knowledge::target_names();
  for (const knowledge::Target& target : knowledge::targets()) names.emplace_back(knowledge::to_string(target.format));
  return names;
}

const Fields<Arguments>& argument_fields() {
  static const auto fields =
      Fields<Arguments>{}
          .add("text", &Arguments::text, "the configuration or command as it is")
          .required()
          .add("filename", &Arguments::filename, "its file name, only a hint")
          .add("to", &Arguments::to, "the format to write; a short name or the name that validate_config gives")
          .required()
          .one_of(accepted_names())
          .add("fsdp_version", &Arguments::fsdp_version,
               "1 or 2; absent: the source's version where the target has it, else 2")
          .min(1)
          .max(2)
          .add("context", &Arguments::context, "what is known about the run beside the text", config_context_fields());
  return fields;
}

std::string output_schema() {
  Json effective = schema_of(knowledge::effective_fields());
  Json schema = Json::parse(R"({"type":"object","properties":{
"applicable":{"type":"boolean"},"converted":{"type":"boolean"},"from":{"type":"string"},"to":{"type":"string"},
"text":{"type":"string"},"effective":{},
"dropped":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"line":{"type":"integer"},
"value":{"type":"string"},"reason":{"type":"string"}}}},
"assumed":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"string"},
"reason":{"type":"string"}}}},
"findings":{"type":"array","items":{"type":"object","properties":{"rule":{"type":"string"},
"severity":{"type":"string"},"key":{"type":"string"},"line":{"type":"integer"},"column":{"type":"integer"},
"message":{"type":"string"},"fix":{"type":"string"},"sources":{"type":"array","items":{"type":"string"}}}}},
"reason":{"type":"string"},"seems":{"type":"string"},"pointer":{"type":"string"}},
"required":["applicable","converted","from","to","text","dropped","assumed","findings"]})");
  schema["properties"]["effective"] = std::move(effective);
  return to_text(schema);
}

Json to_json(const knowledge::Conversion& conversion, const knowledge::Input& source, const knowledge::Target& target) {
  Json out;
  out["applicable"] = conversion.applicable;
  out["converted"] = conversion.converted;
  out["from"] = source.applicable ? std::string(knowledge::to_string(source.format)) : "not-applicable";
  out["to"] = std::string(knowledge::to_string(target.format));
  out["text"] = conversion.text;
  if (conversion.converted) out["effective"] = knowledge::to_json(conversion.effective);
  out["dropped"] = Json::array();
  for (const auto& one : conversion.dropped)
    out["dropped"].push_back({{"key", one.key}, {"line", one.line}, {"value", one.value}, {"reason", one.reason}});
  out["assumed"] = Json::array();
  for (const auto& one : conversion.assumed)
    out["assumed"].push_back({{"key", one.key}, {"value", one.value}, {"reason", one.reason}});
  out["findings"] = fx::to_json(conversion.findings);
  if (!conversion.reason.empty()) out["reason"] = conversion.reason;
  if (!source.applicable) {
    out["seems"] = source.seems;
    out["pointer"] = source.pointer;
  }
  return out;
}

Result<Json> handle(const Json& json, ToolContext&) {
  auto arguments = argument_fields().parse(json);
  if (!arguments) return arguments.error();
  const knowledge::Input source =
      knowledge::read_input(arguments->text, arguments->filename, to_context(arguments->context));
  const knowledge::Target& target = *knowledge::find_target(arguments->to);
  knowledge::FitOptions options;
  if (arguments->fsdp_version > 0) options.fsdp_version = static_cast<int>(arguments->fsdp_version);
  options.trainer_reads_version = !source.context.known_below("transformers", "5");
  auto conversion = knowledge::convert_run(source, target, options);
  if (!conversion) return conversion.error();
  return to_json(*conversion, source, target);
}

}  // namespace

Tool convert_config_tool() {
  Tool tool;
  tool.name = "convert_config";
  tool.description =
      "Translates a training configuration or command (any format that validate_config reads, DeepSpeed ZeRO included) "
      "into accelerate, axolotl, torchtitan, Trainer arguments or our run spec, and FSDP1 into FSDP2. Lists every "
      "setting that has no equivalent and everything that had to be assumed; a source with errors is not converted.";
  tool.input_schema = to_text(schema_of(argument_fields().infos()));
  tool.output_schema = output_schema();
  tool.read_only = true;
  tool.handler = handle;
  return tool;
}

}  // namespace fx::tools
