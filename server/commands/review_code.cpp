#include "server/commands/review_code.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "server/commands/call.h"
#include "server/commands/findings.h"
#include "server/commands/sarif.h"

namespace fx::server {
namespace {

Result<Json> arguments_of(const ReviewCodeOptions& options) {
  Json arguments = {{"files", Json::array()}};
  for (const auto& file : options.files) {
    auto text = read_file(file);
    if (!text) return text.error();
    arguments["files"].push_back({{"name", file}, {"text", *text}});
  }
  Json context = Json::object();
  if (!options.world.empty()) context["world"] = options.world;
  if (!options.torch.empty()) context["torch_version"] = options.torch;
  if (!options.config.empty()) {
    auto text = read_file(options.config);
    if (!text) return text.error();
    context["config"] = {{"name", options.config}, {"text", *text}};
  }
  arguments["context"] = std::move(context);
  return arguments;
}

}  // namespace

int review_code_command(Session& session, const ReviewCodeOptions& options) {
  const auto arguments = arguments_of(options);
  if (!arguments) return report(arguments.error());
  const auto answer = ask(session, "review_code", *arguments);
  if (!answer) return report(answer.error());
  const std::string whole = options.files.size() == 1 ? options.files.front() : "these files";
  if (options.format == "text") print_findings(whole, *answer);
  if (options.format == "json") print_json(*answer);
  if (options.format == "sarif") print_json(sarif_document(Json::array({{{"file", whole}, {"answer", *answer}}})));
  return count_errors(*answer) > 0 ? 1 : 0;
}

}  // namespace fx::server
