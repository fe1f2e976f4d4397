#include "server/commands/convert.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "server/commands/call.h"

namespace fx::server {
namespace {

Result<Json> convert_file(Session& session, const ConvertOptions& options) {
  auto text = options.file == "-" ? read_stdin() : read_file(options.file);
  if (!text) return text.error();
  Json arguments = {{"text", *text}, {"to", options.to}, {"context", Json::object()}};
  if (options.file != "-") arguments["filename"] = std::filesystem::path(options.file).filename().string();
  if (options.fsdp_version > 0) arguments["fsdp_version"] = options.fsdp_version;
  if (options.gpus > 0) arguments["context"]["gpus"] = options.gpus;
  if (options.nodes > 0) arguments["context"]["nodes"] = options.nodes;
  return ask(session, "convert_config", arguments);
}

std::string with_value(const Json& row) {
  const std::string value = text_at(row, "value");
  return text_at(row, "key") + (value.empty() ? "" : " = " + value);
}

// file:line: word: ... like the linter, so that editors jump to the place.
void print_report(const std::string& file, const Json& answer) {
  for (const Json& finding : answer.value("findings", Json::array())) {
    std::fprintf(stderr, "%s:%d: %s: %s [%s]\n", file.c_str(), finding.value("line", 0),
                 text_at(finding, "severity").c_str(), text_at(finding, "message").c_str(),
                 text_at(finding, "rule").c_str());
  }
  for (const Json& row : answer.value("dropped", Json::array())) {
    std::fprintf(stderr, "%s:%d: dropped: %s: %s\n", file.c_str(), row.value("line", 0), with_value(row).c_str(),
                 text_at(row, "reason").c_str());
  }
  for (const Json& row : answer.value("assumed", Json::array()))
    std::fprintf(stderr, "assumed: %s: %s\n", with_value(row).c_str(), text_at(row, "reason").c_str());
  if (const auto reason = text_at(answer, "reason"); !reason.empty())
    std::fprintf(stderr, "%s: not converted: %s\n", file.c_str(), reason.c_str());
}

}  // namespace

int convert_command(Session& session, const ConvertOptions& options) {
  const auto answer = convert_file(session, options);
  if (!answer) return report(answer.error());
  const bool converted = answer->value("converted", false);
  if (options.json) {
    print_json(*answer);
  } else {
    print_report(options.file, *answer);
  }
  if (!converted) return 1;
  const std::string text = text_at(*answer, "text");
  if (!options.out.empty()) {
    if (auto written = write_file_atomic(options.out, text); !written) return report(written.error());
  } else if (!options.json) {
    std::fputs(text.c_str(), stdout);
  }
  return 0;
}

}  // namespace fx::server
