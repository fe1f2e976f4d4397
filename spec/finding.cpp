#include "spec/finding.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace fx {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kInfo:
      return "info";
  }
  return "error";
}

std::optional<Severity> parse_severity(std::string_view text) {
  for (const auto severity : {Severity::kError, Severity::kWarning, Severity::kInfo}) {
    if (to_string(severity) == text) return severity;
  }
  return std::nullopt;
}

Json to_json(const Finding& finding) {
  Json out = {{"rule", finding.rule}, {"severity", to_string(finding.severity)}, {"key", finding.key}};
  if (!finding.file.empty()) out["file"] = finding.file;
  out["line"] = finding.line;
  if (finding.column > 0) out["column"] = finding.column;
  out["message"] = finding.message;
  out["fix"] = finding.fix;
  if (!finding.patch.empty()) out["patch"] = to_json(finding.patch);
  out["sources"] = finding.sources;
  return out;
}

Json to_json(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& finding : findings) out.push_back(to_json(finding));
  return out;
}

bool comes_before(const Finding& a, const Finding& b) {
  return std::tie(a.severity, a.file, a.line, a.column, a.rule) <
         std::tie(b.severity, b.file, b.line, b.column, b.rule);
}

void sort_findings(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), comes_before);
}

}  // namespace fx
