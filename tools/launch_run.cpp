#include "tools/launch_run.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "spec/fields.h"
#include "spec/run_spec.h"
#include "tools/run_service.h"

namespace fx::tools {
namespace {

constexpr std::size_t kMaxKeyBytes = 200;

// What launch_run takes besides the run spec.
struct Extras {
  std::string idempotency_key;
  bool queue = true;
};

const Fields<Extras>& extra_fields() {
  static const auto fields =
      Fields<Extras>{}
          .add("idempotency_key", &Extras::idempotency_key,
               "calling again with the same key and spec gives the same run instead of a second one")
          .add("queue", &Extras::queue,
               "wait while another run has this machine (default true); false starts beside it at once");
  return fields;
}

std::string input_schema() {
  std::vector<FieldInfo> fields = run_spec_fields();
  fields.insert(fields.end(), extra_fields().infos().begin(), extra_fields().infos().end());
  return to_text(schema_of(fields));
}

// A run has another working folder than its caller. ~ is not expanded: no shell is involved.
void make_absolute(std::string& path) {
  path = std::filesystem::absolute(path).lexically_normal().string();
}

void check_paths(const RunSpec& spec, std::vector<Error>& errors) {
  std::error_code code;
  if (!std::filesystem::is_directory(spec.model, code)) {
    errors.push_back(invalid_argument("model", "there is no folder " + quote_input(spec.model),
                                      "give the path of a Hugging Face model folder on this machine"));
  } else if (!std::filesystem::is_regular_file(std::filesystem::path(spec.model) / "config.json", code)) {
    errors.push_back(invalid_argument("model", "the folder holds no config.json: " + quote_input(spec.model),
                                      "give a Hugging Face model folder: config.json, safetensors, tokenizer files"));
  }
  if (!std::filesystem::is_regular_file(spec.data.path, code)) {
    errors.push_back(invalid_argument("data.path", "there is no file " + quote_input(spec.data.path),
                                      "give a file on this machine"));
  }
  if (spec.lora && !spec.lora->adapter.empty() && !std::filesystem::is_directory(spec.lora->adapter, code)) {
    errors.push_back(invalid_argument("lora.adapter", "there is no folder " + quote_input(spec.lora->adapter),
                                      "give a PEFT adapter folder on this machine, or leave it out"));
  }
  if (std::filesystem::exists(spec.output, code) && !std::filesystem::is_directory(spec.output, code)) {
    errors.push_back(invalid_argument("output", "is a file, not a folder: " + quote_input(spec.output),
                                      "name a folder that the run may make"));
  }
}

void check_ranks(const RunSpec& spec, std::vector<Error>& errors, std::vector<std::string>& warnings) {
  const long long cores = std::max(1U, std::thread::hardware_concurrency());
  const long long most = std::max(8LL, 4 * cores);
  const std::string said = std::to_string(spec.ranks) + " ranks on a machine with " + std::to_string(cores) + " cores";
  if (spec.ranks > most) errors.push_back(invalid_argument("ranks", said, "use at most " + std::to_string(cores)));
  if (spec.ranks > cores && spec.ranks <= most) warnings.push_back(said + ": they will share cores");
}

Result<Json> launch(const Json& arguments, ToolContext& context) {
  Json spec_json = arguments;
  for (const auto& extra : extra_fields().infos()) spec_json.erase(extra.name);
  const auto extras = extra_fields().parse(arguments);
  auto parsed = parse_run_spec(spec_json);
  std::vector<Error> errors;
  if (!extras) errors.push_back(extras.error());
  if (extras && extras->idempotency_key.size() > kMaxKeyBytes) {
    errors.push_back(invalid_argument("idempotency_key", "longer than 200 bytes", "a UUID is enough"));
  }
  if (!parsed) {
    const auto& error = parsed.error();
    errors.insert(errors.end(), error.details.begin(), error.details.end());
    if (error.details.empty()) errors.push_back(error);
    return combine(std::move(errors));
  }
  RunSpec& spec = parsed->spec;
  for (auto* path : {&spec.model, &spec.data.path, &spec.output}) make_absolute(*path);
  if (spec.lora && !spec.lora->adapter.empty()) make_absolute(spec.lora->adapter);
  check_paths(spec, errors);
  check_ranks(spec, errors, parsed->warnings);
  if (!errors.empty()) return combine(std::move(errors));
  const auto run = context.runs.launch(to_text(to_json(spec)), extras->idempotency_key, !extras->queue);
  if (!run) return run.error();
  Json out = {{"run_id", run->id}, {"state", to_string(run->state)}, {"folder", run->folder.string()}};
  if (!parsed->warnings.empty()) out["warnings"] = parsed->warnings;
  out["next"] = "call run_status with this run_id; wait_s up to 15 waits for a change";
  return out;
}

}  // namespace

Tool launch_run_tool() {
  Tool tool;
  tool.name = "launch_run";
  tool.description =
      "Starts a sharded fine-tune of a model folder on this machine and returns its run_id at once; the run goes on by "
      "itself. It uses all cores and writes the output folder: ask the user first.";
  tool.input_schema = input_schema();
  tool.read_only = false;
  tool.handler = launch;
  return tool;
}

}  // namespace fx::tools
