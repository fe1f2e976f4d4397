// What a rule says about a config or a piece of code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/json.h"
#include "spec/patch.h"

namespace fx {

enum class Severity { kError, kWarning, kInfo };
std::string_view to_string(Severity severity);  // "error", "warning", "info"
std::optional<Severity> parse_severity(std::string_view text);

struct Finding {
  std::string rule;  // id of the rule's page
  Severity severity = Severity::kError;
  std::string key;      // dotted key path, flag or variable; may be empty
  std::string file;     // when several files were given
  int line = 0;         // 1-based; 0: the whole input
  int column = 0;       // 1-based; 0: unknown
  std::string message;  // what happens, and when; quotes input only through quote_input()
  std::string fix;
  std::vector<std::string> sources;
  Patch patch;  // the fix as edits of the text, where it is mechanical
};

Json to_json(const Finding& finding);
Json to_json(const std::vector<Finding>& findings);  // an array, in this order
// Errors first, then by file, line, column, rule.
bool comes_before(const Finding& a, const Finding& b);
void sort_findings(std::vector<Finding>& findings);

}  // namespace fx
