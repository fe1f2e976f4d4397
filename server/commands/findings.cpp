#include "server/commands/findings.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "server/commands/ask.h"

namespace fx::server {
namespace {

std::string line_of(const std::string& file, const Json& finding) {
  // A finding of a review of several files names its own.
  const std::string own = text_at(finding, "file");
  std::string line = (own.empty() ? file : own) + ":" + std::to_string(finding.value("line", 0));
  if (const int column = finding.value("column", 0); column > 0) line += ":" + std::to_string(column);
  line += ": " + text_at(finding, "severity") + ": " + text_at(finding, "message");
  if (const auto fix = text_at(finding, "fix"); !fix.empty()) line += " Fix: " + fix;
  return line + " [" + text_at(finding, "rule") + "]";
}

}  // namespace

void print_findings(const std::string& file, const Json& answer) {
  if (!answer.value("applicable", true)) {
    const auto reason = text_at(answer, "reason");
    std::printf("%s: not applicable%s%s\n", file.c_str(), reason.empty() ? "" : ": ", reason.c_str());
  }
  for (const auto& finding : answer.value("findings", Json::array())) std::puts(line_of(file, finding).c_str());
  for (const auto& limit : answer.value("limits", Json::array()))
    std::printf("%s: note: %s\n", file.c_str(), limit.get<std::string>().c_str());
}

int count_errors(const Json& answer) {
  int errors = 0;
  for (const auto& finding : answer.value("findings", Json::array())) errors += text_at(finding, "severity") == "error";
  return errors;
}

}  // namespace fx::server
