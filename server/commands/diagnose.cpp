#include "server/commands/diagnose.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "knowledge/causes/diagnose.h"
#include "server/commands/call.h"
#include "tools/diagnosis_text.h"

namespace fx::server {
namespace {

struct LogFile {
  std::string name;
  std::string text;
};

// Standard input or files, each under its own name; a single one needs none. Errors name the file.
Result<std::vector<LogFile>> read_logs(const std::vector<std::string>& paths) {
  std::vector<LogFile> logs;
  for (const auto& path : paths) {
    auto text = path == "-" ? read_stdin() : read_file(path);
    if (!text) return text.error();
    logs.push_back({paths.size() == 1 ? "" : std::filesystem::path(path).filename().string(), std::move(*text)});
  }
  return logs;
}

int print_answer(Session& session, const std::vector<LogFile>& logs) {
  Json list = Json::array();
  for (const auto& log : logs) list.push_back({{"name", log.name}, {"text", log.text}});
  const Json arguments = logs.size() == 1 ? Json{{"log", logs[0].text}} : Json{{"logs", std::move(list)}};
  const auto answer = ask(session, "diagnose_failure", arguments);
  return answer ? print_json(*answer) : report(answer.error());
}

}  // namespace

int diagnose_command(Session& session, const DiagnoseOptions& options) {
  const auto logs = read_logs(options.logs);
  if (!logs) return report(logs.error());
  if (options.json) return print_answer(session, *logs);
  std::vector<knowledge::NamedLog> named;
  for (const auto& log : *logs) named.push_back({log.name, log.text});
  const auto scene = knowledge::read_scene(named);
  tools::DiagnosisStyle style;
  style.color = ::isatty(STDOUT_FILENO) != 0;
  std::fputs(tools::diagnosis_text(knowledge::diagnose(scene), scene, style).c_str(), stdout);
  return 0;
}

}  // namespace fx::server
