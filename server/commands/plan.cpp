#include "server/commands/plan.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
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

Result<Json> read_model(const std::string& place) {
  std::filesystem::path path = place;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) path /= "config.json";
  auto text = read_file(path, std::size_t{4} << 20);
  if (!text) return text.error();
  auto config = parse_json(*text);
  if (config) return config;
  Error error = config.error();
  error.field = path.string();
  return error;
}

Json arguments_of(const PlanOptions& options, Json model) {
  Json training = Json::object();
  if (!options.method.empty()) training["method"] = options.method;
  if (options.seq_len > 0) training["seq_len"] = options.seq_len;
  if (options.micro_batch > 0) training["micro_batch"] = options.micro_batch;
  if (!options.sharding.empty()) training["sharding"] = options.sharding;
  Json arguments = {{"model", std::move(model)},
                    {"hardware", {{"gpu", options.gpu}, {"gpus_per_node", options.gpus}, {"nodes", options.nodes}}},
                    {"training", std::move(training)}};
  if (options.tokens > 0) arguments["data"] = {{"tokens", options.tokens}};
  if (options.price > 0) arguments["price_per_gpu_hour"] = options.price;
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
  auto model = read_model(options.model);
  if (!model) return report(model.error());
  auto answer = ask(session, "plan_finetune", arguments_of(options, std::move(*model)));
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
