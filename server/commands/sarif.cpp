#include "server/commands/sarif.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "knowledge/code_rules/review.h"
#include "knowledge/rules/validate.h"
#include "knowledge/store/page.h"
#include "server/commands/file_uri.h"
#include "server/version.h"

namespace fx::server {
namespace {

std::string level_of(const std::string& severity) {
  return severity == "info" ? "note" : severity;
}

Json text(const std::string& words) {
  return {{"text", words}};
}

Json artifact(const std::string& file) {
  return {{"uri", file_uri(file)}};
}

// The rule's page, as far as a viewer shows it.
Json rule_of(const std::string& id) {
  knowledge::Page page = knowledge::find_page(embedded::rule_pages(), id);
  if (page.title.empty()) page = knowledge::find_page(embedded::code_rule_pages(), id);
  Json rule = {{"id", id}};
  if (page.title.empty()) return rule;
  rule["shortDescription"] = text(page.title);
  rule["fullDescription"] = text(page.section("what") + " " + page.section("why"));
  rule["help"] = text(page.section("fix"));
  if (const auto severity = page.front.find("severity"); severity != page.front.end())
    rule["defaultConfiguration"] = {{"level", level_of(severity->second)}};
  if (!page.sources.empty()) rule["properties"] = {{"sources", page.sources}};
  return rule;
}

// FNV-1a: stable over runs, machines and lines that move.
std::string fingerprint(const std::string& words) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : words) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::string hex;
  for (int shift = 60; shift >= 0; shift -= 4) hex += "0123456789abcdef"[(hash >> shift) & 15u];
  return hex;
}

Json replacement_of(const Json& edit) {
  return {{"deletedRegion",
           {{"startLine", edit.at("start_line")},
            {"startColumn", edit.at("start_column")},
            {"endLine", edit.at("end_line")},
            {"endColumn", edit.at("end_column")}}},
          {"insertedContent", text(edit.value("replacement", ""))}};
}

Json fix_of(const std::string& file, const Json& finding) {
  Json replacements = Json::array();
  for (const auto& edit : finding.at("patch")) replacements.push_back(replacement_of(edit));
  return {{"description", text(finding.value("fix", ""))},
          {"artifactChanges",
           Json::array({{{"artifactLocation", artifact(file)}, {"replacements", std::move(replacements)}}})}};
}

class Document {
 public:
  void add_file(const Json& row) {
    const std::string file = row.at("file").get<std::string>();
    if (const auto error = row.find("error"); error != row.end()) {
      successful_ = false;
      notifications_.push_back(
          {{"level", "error"},
           {"message", text(error->get<std::string>())},
           {"locations", Json::array({{{"physicalLocation", {{"artifactLocation", artifact(file)}}}}})}});
      return;
    }
    const Json findings = row.at("answer").value("findings", Json::array());
    for (const auto& limit : row.at("answer").value("limits", Json::array()))
      notifications_.push_back({{"level", "warning"}, {"message", text(limit.get<std::string>())}});
    std::map<std::string, int> seen;
    bool whole = true;
    for (const auto& finding : findings) {
      // A finding of a review of several files names its own.
      const std::string own = finding.value("file", "");
      whole = whole && own.empty();
      add(own.empty() ? file : own, finding, seen);
    }
    if (whole) files_.insert(file);
  }

  Json take() {
    Json artifacts = Json::array();
    for (const auto& file : files_) artifacts.push_back({{"location", artifact(file)}});
    Json invocation = {{"executionSuccessful", successful_}};
    if (!notifications_.empty()) invocation["toolExecutionNotifications"] = std::move(notifications_);
    const Json driver = {{"name", kProgram}, {"version", kVersion}, {"rules", std::move(rules_)}};
    Json run = {{"tool", {{"driver", driver}}},
                {"invocations", Json::array({std::move(invocation)})},
                {"columnKind", "unicodeCodePoints"},
                {"artifacts", std::move(artifacts)},
                {"results", std::move(results_)}};
    return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({std::move(run)})}};
  }

 private:
  void add(const std::string& file, const Json& finding, std::map<std::string, int>& seen) {
    files_.insert(file);
    const std::string rule = finding.value("rule", ""), name = rule + " " + finding.value("key", "");
    // SARIF counts from 1; 0 is our "the whole input".
    Json region = {{"startLine", std::max(1, finding.value("line", 1))}};
    if (const int column = finding.value("column", 0); column > 0) region["startColumn"] = column;
    std::string message = finding.value("message", "");
    if (const auto fix = finding.value("fix", ""); !fix.empty()) message += " Fix: " + fix;
    Json result = {
        {"ruleId", rule},
        {"ruleIndex", index_of(rule)},
        {"level", level_of(finding.value("severity", "error"))},
        {"message", text(message)},
        {"locations",
         Json::array({{{"physicalLocation", {{"artifactLocation", artifact(file)}, {"region", region}}}}})},
        {"partialFingerprints", {{"ruleAndKey/v1", fingerprint(name + " " + std::to_string(seen[name]++))}}}};
    if (finding.contains("patch")) result["fixes"] = Json::array({fix_of(file, finding)});
    results_.push_back(std::move(result));
  }

  std::size_t index_of(const std::string& rule) {
    const auto [at, fresh] = indexes_.emplace(rule, rules_.size());
    if (fresh) rules_.push_back(rule_of(rule));
    return at->second;
  }

  Json rules_ = Json::array(), results_ = Json::array(), notifications_ = Json::array();
  bool successful_ = true;
  std::set<std::string> files_;
  std::map<std::string, std::size_t> indexes_;
};

}  // namespace

Json sarif_document(const Json& rows) {
  Document document;
  for (const auto& row : rows) document.add_file(row);
  return document.take();
}

}  // namespace fx::server
