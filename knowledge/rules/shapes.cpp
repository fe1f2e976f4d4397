#include <algorithm>
#include <cctype>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/rules/rule.h"

namespace fx::knowledge {
namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

bool contains_word(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

Hit& Hits::add(Hit hit) {
  hits_.push_back(std::move(hit));
  return hits_.back();
}
Hit& Hits::at(const Node& node, std::string detail, std::string fix) {
  return add({node.shown, node.line, node.column, std::move(detail), std::move(fix), std::nullopt, {}});
}
Hit& Hits::at(const Assignment& assignment, std::string detail, std::string fix) {
  return add(
      {assignment.name, assignment.line, assignment.column, std::move(detail), std::move(fix), std::nullopt, {}});
}
Hit& Hits::at(const Directive& directive, std::string detail, std::string fix) {
  return add({"#SBATCH " + directive.name,
              directive.line,
              directive.column,
              std::move(detail),
              std::move(fix),
              std::nullopt,
              {}});
}
Hit& Hits::root(std::string detail, std::string fix) {
  return add({"(root)", 1, 0, std::move(detail), std::move(fix), std::nullopt, {}});
}

std::string quoted(std::string_view value) {
  return "'" + quote_input(mask_secrets(value), 80) + "'";
}

Check bad_value(Find find, std::vector<std::string> allowed, bool ignore_case) {
  return [find = std::move(find), allowed = std::move(allowed), ignore_case](const Input& input, Hits& hits) {
    const Node* node = find(input);
    if (node == nullptr || !node->is_scalar() || node->is_null()) return;
    const std::string value = ignore_case ? upper(node->text) : node->text;
    if (contains_word(allowed, value)) return;
    const auto near = nearest(upper(node->text), allowed);
    const std::string best = near ? *near : allowed.front();
    Hit& hit =
        hits.at(*node, quoted(node->text) + " is not one of " + join(allowed, ", ") + ".", node->shown + ": " + best);
    // A short value is near to everything.
    if (near && node->text.size() >= 4) hit.changes = {{Change::Kind::kSet, place_of(*node), "", best, {}}};
  };
}

void report_unknown(const Node& key, const std::string& bare, const std::vector<std::string>& known,
                    const std::vector<Moved>& moved, Hits& hits) {
  if (hits.full()) return;
  for (const Moved& row : moved) {
    if (bare == row.from) {
      hits.at(key, quoted(key.name) + " is not a key here; the name is " + std::string(row.to) + ".",
              "Write " + std::string(row.to) + " instead.")
          .changes = {{Change::Kind::kRename, place_of(key), std::string(row.to), "", {}}};
      return;
    }
  }
  const auto near = nearest(bare, known);
  if (near) {
    const std::string prefix = key.name.size() > bare.size() ? key.name.substr(0, key.name.size() - bare.size()) : "";
    hits.at(key, quoted(key.name) + " is not a key here; the nearest one is " + prefix + *near + ".",
            "Write " + prefix + *near + ".")
        .changes = {{Change::Kind::kRename, place_of(key), prefix + *near, "", {}}};
    return;
  }
  hits.at(key, quoted(key.name) + " is not a key here.");
}

Check unknown_keys(Find mapping, std::vector<std::string> known, std::vector<Moved> moved,
                   std::vector<std::string> strip_prefixes) {
  return [mapping = std::move(mapping), known = std::move(known), moved = std::move(moved),
          prefixes = std::move(strip_prefixes)](const Input& input, Hits& hits) {
    const Node* map = mapping(input);
    if (map == nullptr || !map->is_map()) return;
    for (const Node& child : map->children) {
      std::string bare = child.name;
      for (const auto& prefix : prefixes) {
        if (bare.rfind(prefix, 0) == 0) bare = bare.substr(prefix.size());
      }
      if (!contains_word(known, bare)) report_unknown(child, bare, known, moved, hits);
    }
  };
}

}  // namespace fx::knowledge
