#include "server/commands/validate.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "server/commands/call.h"
#include "server/commands/findings.h"
#include "server/commands/sarif.h"

namespace fx::server {
namespace {

Result<Json> validate_file(Session& session, const std::string& file, int gpus) {
  auto text = file == "-" ? read_stdin() : read_file(file);
  if (!text) return text.error();
  Json arguments = {{"text", *text}};
  if (file != "-") arguments["filename"] = std::filesystem::path(file).filename().string();
  if (gpus > 0) arguments["context"] = {{"gpus", gpus}};
  return ask(session, "validate_config", arguments);
}

}  // namespace

int validate_command(Session& session, const ValidateOptions& options) {
  Json all = Json::array();
  int errors = 0;
  for (const auto& file : options.files) {
    auto answer = validate_file(session, file, options.gpus);
    if (!answer) return report(answer.error());
    errors += count_errors(*answer);
    if (options.format == "text") print_findings(file, *answer);
    all.push_back({{"file", file}, {"answer", std::move(*answer)}});
  }
  if (options.format == "json") print_json(all);
  if (options.format == "sarif") print_json(sarif_document(all));
  return errors > 0 ? 1 : 0;
}

}  // namespace fx::server
