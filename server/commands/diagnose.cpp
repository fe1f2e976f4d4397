#include "server/commands/diagnose.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "server/commands/call.h"

namespace fx::server {
namespace {

void print_cause(const Json& cause) {
  std::printf("\n%s (confidence %.0f%%", text_at(cause, "id").c_str(), 100 * cause.value("confidence", 0.0));
  const auto rank = text_at(cause, "root_rank");
  std::printf("%s%s)\n", rank.empty() ? "" : ", began on rank ", rank.c_str());
  if (const auto summary = text_at(cause, "summary"); !summary.empty()) std::printf("%s\n", summary.c_str());
  for (const auto& row : cause.value("evidence", Json::array())) {
    const auto log = text_at(row, "log");
    std::printf("  %s%s%s: %s\n", log.c_str(), log.empty() ? "line " : ":", text_at(row, "line").c_str(),
                text_at(row, "text").c_str());
  }
  std::printf("First step: %s\n", text_at(cause, "first_step").c_str());
  print_list("Then", cause, "next_steps");
}

}  // namespace

int diagnose_command(Session& session, const DiagnoseOptions& options) {
  Json logs = Json::array();
  for (const auto& log : options.logs) {
    auto text = log == "-" ? read_stdin() : read_file(log);
    if (!text) return report(text.error());
    logs.push_back({{"name", std::filesystem::path(log).filename().string()}, {"text", *text}});
  }
  const Json arguments = logs.size() == 1 ? Json{{"log", logs[0]["text"]}} : Json{{"logs", std::move(logs)}};
  const auto answer = ask(session, "diagnose_failure", arguments);
  if (!answer) return report(answer.error());
  if (options.json) return print_json(*answer);
  std::printf("%s: %s\n", text_at(*answer, "verdict").c_str(), text_at(*answer, "reason").c_str());
  for (const auto& cause : answer->value("causes", Json::array())) print_cause(cause);
  return 0;
}

}  // namespace fx::server
