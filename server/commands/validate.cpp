#include "server/commands/validate.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "server/commands/call.h"
#include "server/commands/sarif.h"

namespace fx::server {
namespace {

std::string line_of(const std::string& file, const Json& finding) {
  std::string line = file + ":" + std::to_string(finding.value("line", 0));
  if (const int column = finding.value("column", 0); column > 0) line += ":" + std::to_string(column);
  line += ": " + text_at(finding, "severity") + ": " + text_at(finding, "message");
  if (const auto fix = text_at(finding, "fix"); !fix.empty()) line += " Fix: " + fix;
  return line + " [" + text_at(finding, "rule") + "]";
}

void print_answer(const std::string& file, const Json& answer) {
  if (!answer.value("applicable", true)) {
    const auto reason = text_at(answer, "reason");
    std::printf("%s: not applicable%s%s\n", file.c_str(), reason.empty() ? "" : ": ", reason.c_str());
  }
  for (const auto& finding : answer.value("findings", Json::array())) std::puts(line_of(file, finding).c_str());
}

int count_errors(const Json& answer) {
  int errors = 0;
  for (const auto& finding : answer.value("findings", Json::array())) errors += text_at(finding, "severity") == "error";
  return errors;
}

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
    if (options.format == "text") print_answer(file, *answer);
    all.push_back({{"file", file}, {"answer", std::move(*answer)}});
  }
  if (options.format == "json") print_json(all);
  if (options.format == "sarif") print_json(sarif_document(all));
  return errors > 0 ? 1 : 0;
}

}  // namespace fx::server
