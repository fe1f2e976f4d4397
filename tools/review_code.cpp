#include "tools/review_code.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/code_rules/review.h"
#include "spec/fields.h"

namespace fx::tools {
namespace {

struct FileArgument {
  std::string name, text;
};
struct ContextArguments {
  std::string world, torch_version;
  FileArgument config;
};
struct Arguments {
  std::vector<FileArgument> files;
  ContextArguments context;
};

constexpr std::size_t kMaxFiles = 200;

const Fields<FileArgument>& file_fields() {
  static const auto fields = Fields<FileArgument>{}
                                 .add("name", &FileArgument::name, "path of the file, as imports between files see it")
                                 .required()
                                 .add("text", &FileArgument::text, "its Python source, as it is")
                                 .required();
  return fields;
}

const Fields<ContextArguments>& context_fields() {
  static const auto fields =
      Fields<ContextArguments>{}
          .add("world", &ContextArguments::world, "nodes and GPUs of a node, such as \"2x8\"")
          .add("torch_version", &ContextArguments::torch_version, "version of torch the code runs on, such as \"2.8\"")
          .add("config", &ContextArguments::config,
               "the configuration the code is launched with; both are checked against each other", file_fields());
  return fields;
}

const Fields<Arguments>& argument_fields() {
  static const auto fields =
      Fields<Arguments>{}
          .add("files", &Arguments::files, "the Python files of one program", file_fields())
          .required()
          .max_items(kMaxFiles)
          .add("context", &Arguments::context, "what is known about the run beside the code", context_fields());
  return fields;
}

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"applicable":{"type":"boolean"},
"findings":{"type":"array","items":{"type":"object","properties":{"rule":{"type":"string"},"severity":{"type":"string"},
"file":{"type":"string"},"line":{"type":"integer"},"column":{"type":"integer"},"message":{"type":"string"},
"fix":{"type":"string"},"sources":{"type":"array","items":{"type":"string"}}}}},
"syntax_error_files":{"type":"array","items":{"type":"string"}},
"limits":{"type":"array","items":{"type":"string"}},
"reason":{"type":"string"},"seems":{"type":"string"},"pointer":{"type":"string"}},
"required":["applicable","findings"]})";

Result<knowledge::code::ReviewContext> to_context(const ContextArguments& in) {
  knowledge::code::ReviewContext out;
  out.torch_version = in.torch_version;
  if (in.world.empty()) return out;
  const auto parts = split(in.world, 'x');
  out.nodes = to_integer(parts.front());
  out.gpus_per_node = parts.size() == 2 ? to_integer(parts.back()) : std::nullopt;
  if (out.nodes.value_or(0) < 1 || out.gpus_per_node.value_or(0) < 1)
    return invalid_argument("context.world", "must be nodes x GPUs of a node, such as \"2x8\"");
  return out;
}

Result<Json> handle(const Json& json, ToolContext&) {
  auto arguments = argument_fields().parse(json);
  if (!arguments) return arguments.error();
  const auto context = to_context(arguments->context);
  if (!context) return context.error();
  std::vector<knowledge::code::InputFile> files;
  for (FileArgument& file : arguments->files) files.push_back({std::move(file.name), std::move(file.text)});
  std::optional<knowledge::CodeConfig> config;
  if (const FileArgument& given = arguments->context.config; !given.text.empty()) config = {given.name, given.text};
  const knowledge::CodeReview review = knowledge::review_code(std::move(files), *context, config);
  Json out;
  out["applicable"] = review.applicable;
  out["findings"] = fx::to_json(review.findings);
  if (!review.broken_files.empty()) {
    out["syntax_error_files"] = Json::array();
    for (const auto& name : review.broken_files) out["syntax_error_files"].push_back(quote_input(name, 200));
  }
  if (!review.limits.empty()) out["limits"] = review.limits;
  if (!review.applicable) {
    out["reason"] =
        review.limits.empty()
            ? "No file trains or checkpoints with torch.distributed, FSDP, DCP or accelerate."
            : "Nothing that could be read trains or checkpoints with torch.distributed, FSDP, DCP or accelerate.";
    out["seems"] = review.seems;
    out["pointer"] = review.pointer;
  }
  return out;
}

}  // namespace

Tool review_code_tool() {
  Tool tool;
  tool.name = "review_code";
  tool.description =
      "Reviews Python training code (FSDP1, FSDP2, DDP, accelerate, DCP) for what hangs, corrupts or wastes a "
      "multi-GPU run: follows calls across files without running them, returns file, line, consequence and fix, and "
      "says so when the code is none of these.";
  tool.input_schema = to_text(schema_of(argument_fields().infos()));
  tool.output_schema = std::string(kOutputSchema);
  tool.read_only = true;
  tool.handler = handle;
  return tool;
}

}  // namespace fx::tools
