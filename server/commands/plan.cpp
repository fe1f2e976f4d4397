#include "server/commands/plan.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "server/commands/call.h"
#include "tools/plan_finetune.h"

namespace fx::server {
namespace {

// Ready files by the tool's name for them, and what they are called on disk.
constexpr std::pair<const char*, const char*> kFiles[] = {{"accelerate", "accelerate.yaml"},
                                                          {"torchtitan", "torchtitan.toml"},
                                                          {"torchrun", "launch.sh"},
                                                          {"sbatch", "job.sbatch"},
                                                          {"run_spec", "run.json"}};

// A name like ORGANISATION/NAME is a model on a hub, which this program does not visit.
bool is_hub_name(const std::string& place) {
  const auto slash = place.find('/');
  return slash != std::string::npos && slash > 0 && place.find('/', slash + 1) == std::string::npos &&
         place.front() != '.' && !place.ends_with(".json") && !std::filesystem::exists(place.substr(0, slash));
}

Result<Json> read_model(const std::string& place) {
  if (place.empty()) return Json::object();
  std::filesystem::path path = place;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) path /= "config.json";
  auto text = read_file(path, std::size_t{4} << 20);
  if (!text) {
    Error error = text.error();
    if (is_hub_name(place)) {
      error.hint = "this program does not fetch models: download " + quote_input(place, 80) +
                   "'s config.json and give its path, or give --params with its billions of parameters";
    }
    return error;
  }
  auto config = parse_json(*text);
  if (config) return config;
  Error error = config.error();
  error.field = path.string();
  return error;
}

Result<Json> arguments_of(const PlanOptions& options) {
  const auto params = options.flags.find("model.params_b");
  if (options.model.empty() && (params == options.flags.end() || params->second.empty())) {
    return invalid_argument("model", "is missing",
                            "give the folder or config.json of the model, or --params with its billions of parameters");
  }
  auto model = read_model(options.model);
  if (!model) return model.error();
  Json arguments = {{"model", std::move(*model)}, {"hardware", Json::object()}, {"training", Json::object()}};
  if (const auto added = add_plan_flags(options.flags, arguments); !added) return added.error();
  arguments["answers"] = options.questions || options.json;
  if (!options.write.empty()) {
    arguments["files"] = Json::array();
    for (const auto& [name, file] : kFiles) arguments["files"].push_back(name);
  }
  return arguments;
}

Result<void> write_files(const std::filesystem::path& folder, const Json& files) {
  if (auto made = make_folder(folder); !made) return made;
  for (const auto& [name, file] : kFiles) {
    if (!files.contains(name)) continue;
    if (auto written = write_file_atomic(folder / file, files[name].get<std::string>()); !written) return written;
    std::fprintf(stderr, "wrote %s\n", (folder / file).c_str());
  }
  return {};
}

}  // namespace

int plan_command(Session& session, const PlanOptions& options) {
  auto arguments = arguments_of(options);
  if (!arguments) return report(arguments.error());
  auto answer = ask(session, "plan_finetune", std::move(*arguments));
  if (!answer) return report(answer.error());
  if (!options.write.empty() && answer->contains("files")) {
    if (auto written = write_files(options.write, answer->at("files")); !written) return report(written.error());
    if (!options.json) answer->erase("files");
  }
  if (options.json) return print_json(*answer);
  std::fputs(tools::plan_text(*answer).c_str(), stdout);
  return 0;
}

}  // namespace fx::server
