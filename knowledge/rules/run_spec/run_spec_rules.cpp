// Our own run spec, asked through the parser that the engine uses.
#include "base/text.h"
#include "knowledge/rules/lists.h"
#include "spec/run_spec.h"

namespace fx::knowledge {
namespace {

// The key at an error's field path, or the nearest one above it; nullptr when nothing of the path is written.
const Node* node_at(const Input& input, std::string path) {
  path = path.substr(0, path.find('['));
  while (!path.empty()) {
    if (const Node* node = input.root().at(path)) return node;
    const auto dot = path.rfind('.');
    path = dot == std::string::npos ? "" : path.substr(0, dot);
  }
  return nullptr;
}

void report(const Input& input, const Error& error, Hits& hits) {
  const std::string field = quote_input(error.field, 80);
  const std::string text = field + " " + quote_input(error.message, 160) + ".";
  const Node* node = node_at(input, error.field);
  if (node != nullptr) {
    hits.at(*node, text, error.hint);
  } else {
    hits.root(text, error.hint.empty() ? "Write \"" + field + "\"." : error.hint);
  }
}

void invalid_value(const Input& input, Hits& hits) {
  const auto parsed = parse_run_spec_text(input.text);
  if (parsed) return;
  const Error& error = parsed.error();
  if (error.details.empty()) report(input, error, hits);
  for (const Error& one : error.details) report(input, one, hits);
}

void collect_unknown(const Node& map, const std::vector<FieldInfo>& fields, Hits& hits) {
  std::vector<std::string> known;
  for (const FieldInfo& field : fields) known.push_back(field.name);
  for (const Node& child : map.children) {
    const FieldInfo* info = nullptr;
    for (const FieldInfo& field : fields) {
      if (field.name == child.name) info = &field;
    }
    if (info == nullptr) {
      report_unknown(child, child.name, known, {}, hits);
    } else if (child.is_map() && !info->children.empty()) {
      collect_unknown(child, info->children, hits);
    }
  }
}

void unknown_key(const Input& input, Hits& hits) {
  collect_unknown(input.root(), run_spec_fields(), hits);
}

}  // namespace

Rules run_spec_rules() {
  return {
      {"run-spec-invalid-value", Severity::kError, kRunSpec, invalid_value},
      {"run-spec-unknown-key", Severity::kWarning, kRunSpec, unknown_key},
  };
}

}  // namespace fx::knowledge
