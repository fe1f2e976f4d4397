#include "server/commands/runs.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file.h"
#include "server/commands/call.h"
#include "tools/run_service.h"

namespace fx::server {
namespace {

Json to_json(const tools::RunRecord& run) {
  return {{"run_id", run.id},
          {"state", tools::to_string(run.state)},
          {"folder", run.folder.string()},
          {"created", iso_time(run.created_ms)},
          {"reason", run.reason}};
}

}  // namespace

int runs_command(Session& session, int limit, bool json) {
  const auto runs = session.services.context().runs.list(static_cast<std::size_t>(limit));
  Json rows = Json::array();
  for (const auto& run : runs) rows.push_back(to_json(run));
  if (json) return print_json(rows);
  if (rows.empty()) std::puts("no runs yet");
  for (const auto& row : rows) {
    std::printf("%s  %-9s  %s  %s\n", text_at(row, "run_id").c_str(), text_at(row, "state").c_str(),
                text_at(row, "created").c_str(), text_at(row, "reason").c_str());
  }
  return 0;
}

int launch_command(Session& session, const std::string& spec_file, const std::string& idempotency_key) {
  auto text = spec_file == "-" ? read_stdin() : read_file(spec_file);
  if (!text) return report(text.error());
  auto spec = parse_json(*text);
  if (!spec) return report(spec.error());
  if (spec->is_object() && !idempotency_key.empty()) (*spec)["idempotency_key"] = idempotency_key;
  const auto answer = ask(session, "launch_run", *spec);
  if (!answer) return report(answer.error());
  std::printf("%s  %s\n", text_at(*answer, "run_id").c_str(), text_at(*answer, "state").c_str());
  return 0;
}

int review_command(Session& session, const std::string& run, bool json) {
  const auto answer = ask(session, "review_run", {{"run_id", run}});
  if (!answer) return report(answer.error());
  if (json) return print_json(*answer);
  std::printf("%s: %s\n", run.c_str(), text_at(*answer, "verdict").c_str());
  if (const auto reason = text_at(*answer, "reason"); !reason.empty()) std::puts(reason.c_str());
  for (const auto& finding : answer->value("findings", Json::array())) {
    std::printf("  %s: %s %s\n", text_at(finding, "severity").c_str(), text_at(finding, "message").c_str(),
                text_at(finding, "fix").c_str());
  }
  return 0;
}

int stop_command(Session& session, const std::string& run) {
  const auto answer = ask(session, "stop_run", {{"run_id", run}});
  if (!answer) return report(answer.error());
  std::printf("%s  %s\n", run.c_str(), text_at(*answer, "state").c_str());
  return 0;
}

}  // namespace fx::server
