// Rules about the text itself, whatever its format.
#include <algorithm>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

void syntax_invalid(const Input& input, Hits& hits) {
  if (!input.document.error || (input.syntax == "yaml" && tab_indented_line(input.text) > 0)) return;
  const SyntaxError& error = *input.document.error;
  hits.add({"(syntax)",
            error.line,
            error.column,
            "Does not parse as " + input.syntax + ": " + quote_input(mask_secrets(error.message), 160) + ".",
            "",
            {}});
}

void tab_indent(const Input& input, Hits& hits) {
  if (input.syntax != "yaml") return;
  const int line = tab_indented_line(input.text);
  if (line > 0) hits.add({"(syntax)", line, 1, "", "", {}});
}

void duplicate_key(const Input& input, Hits& hits) {
  for (const auto& d : input.document.duplicates) {
    hits.add({d.shown,
              d.line,
              d.column,
              "Written on line " + std::to_string(d.first_line) + " and again on line " + std::to_string(d.line) +
                  "; the one on line " + std::to_string(d.line) + " is in force.",
              "Delete one of the two; line " + std::to_string(d.first_line) + " has no effect.",
              {}});
  }
}

void nearest_key(const Node& node, int line, const Node*& best) {
  for (const Node& child : node.children) {
    if (!child.name.empty() && child.line <= line && (best == nullptr || child.line >= best->line)) best = &child;
    nearest_key(child, line, best);
  }
}

// The key that holds the text at this line and byte.
std::string holder(const Input& input, int line, std::string_view before) {
  for (const auto& assignment : input.script.assignments) {
    if (assignment.line == line) return assignment.name;
  }
  const Node* best = nullptr;
  nearest_key(input.document.root, line, best);
  if (best != nullptr) return best->shown;
  // The word in front of the value on its line: a flag, "name=" or "name:".
  std::string_view text = before.substr(before.rfind('\n') + 1);
  std::string key;
  std::size_t end = text.find_last_of("=: ");
  while (end != std::string_view::npos && end > 0 && key.empty()) {
    const auto begin = text.substr(0, end).find_last_of(" \t\"'{,");
    key = std::string(trim(text.substr(begin == std::string_view::npos ? 0 : begin + 1,
                                       end - (begin == std::string_view::npos ? 0 : begin + 1))));
    if (!key.empty() && key.back() == '=') key.pop_back();
    if (key.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos) key.clear();
    end = text.substr(0, end).find_last_of("=: ");
  }
  return key.empty() ? "(line " + std::to_string(line) + ")" : key;
}

void secret_in_config(const Input& input, Hits& hits) {
  const std::string_view text = input.text;
  std::size_t counted = 0;
  int line = 1, last = 0;
  for (const auto& span : find_secrets(text)) {
    if (hits.full()) return;
    line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                        text.begin() + static_cast<std::ptrdiff_t>(span.begin), '\n'));
    counted = span.begin;
    if (line == last) continue;
    last = line;
    hits.add({holder(input, line, text.substr(0, span.begin)),
              line,
              0,
              "Looks like a live credential (" + span.kind + ").",
              "",
              {}});
  }
}

void not_applicable(const Input& input, Hits& hits) {
  if (!input.applicable) hits.root("This seems to be " + input.seems + ".", input.pointer);
}

void continuation_broken(const Input& input, Hits& hits) {
  for (const auto& broken : input.script.broken) {
    hits.add({broken.key,
              broken.line,
              0,
              broken.trailing_blank ? "A blank follows the backslash at the end of this line."
                                    : "The command goes on below, but this line has no backslash at its end.",
              broken.trailing_blank ? "Remove the blank after the backslash." : "End the line with a backslash.",
              {}});
  }
}

}  // namespace

Rules any_form_rules() {
  return {
      {"syntax-invalid", Severity::kError, kAnyFormat, syntax_invalid},
      {"yaml-tab-indent", Severity::kError, kAnyFormat, tab_indent},
      {"duplicate-key", Severity::kWarning, kAnyFormat, duplicate_key},
      {"secret-in-config", Severity::kWarning, kAnyFormat, secret_in_config},
      {"not-applicable", Severity::kInfo, kAnyFormat, not_applicable},
      {"shell-continuation-broken", Severity::kError, kShell, continuation_broken},
  };
}

}  // namespace fx::knowledge
