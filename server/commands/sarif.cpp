#include "server/commands/sarif.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "server/version.h"

namespace fx::server {
namespace {

std::string level_of(const std::string& severity) {
  return severity == "info" ? "note" : severity;
}

Json result_of(const std::string& file, const Json& finding) {
  std::string text = finding.value("message", "");
  if (const auto fix = finding.value("fix", ""); !fix.empty()) text += " Fix: " + fix;
  // SARIF counts from 1; 0 is our "the whole input".
  Json region = {{"startLine", std::max(1, finding.value("line", 1))}};
  if (const int column = finding.value("column", 0); column > 0) region["startColumn"] = column;
  return {{"ruleId", finding.value("rule", "")},
          {"level", level_of(finding.value("severity", "error"))},
          {"message", {{"text", text}}},
          {"locations",
           Json::array({{{"physicalLocation", {{"artifactLocation", {{"uri", file}}}, {"region", region}}}}})}};
}

}  // namespace

Json sarif_document(const Json& answers) {
  Json results = Json::array();
  std::set<std::string> ids;
  for (const auto& row : answers) {
    for (const auto& finding : row.at("answer").value("findings", Json::array())) {
      // A finding of a review of several files names its own.
      const std::string own = finding.value("file", "");
      results.push_back(result_of(own.empty() ? row.at("file").get<std::string>() : own, finding));
      ids.insert(finding.value("rule", ""));
    }
  }
  Json rules = Json::array();
  for (const auto& id : ids) rules.push_back({{"id", id}});
  const Json driver = {{"name", kProgram}, {"version", kVersion}, {"rules", std::move(rules)}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({{{"tool", {{"driver", driver}}}, {"results", std::move(results)}}})}};
}

}  // namespace fx::server
