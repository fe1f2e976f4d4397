#include <algorithm>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/edit/cursor.h"
#include "knowledge/formats/fsdp_settings.h"
#include "knowledge/formats/model_layers.h"
#include "knowledge/formats/trainer/trainer.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

Change replace(Span span, std::string text) {
  return {Change::Kind::kReplace, {}, "", std::move(text), span};
}

// The brackets that are still open at the end; nullopt inside a string.
std::optional<std::string> open_brackets(std::string_view text) {
  std::string closers;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      const auto end = skip_quoted(text, at);
      if (!end) return std::nullopt;
      at = *end - 1;
    } else if (text[at] == '{' || text[at] == '[') {
      closers.insert(closers.begin(), text[at] == '{' ? '}' : ']');
    } else if ((text[at] == '}' || text[at] == ']') && !closers.empty()) {
      closers.erase(closers.begin());
    }
  }
  return closers;
}

// Commas in front of another comma or of a closing bracket.
void drop_spare_commas(std::string_view text, Changes& changes) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      const auto end = skip_quoted(text, at);
      if (!end) return;
      at = *end - 1;
    } else if (text[at] == ',') {
      const auto next = text.find_first_not_of(" \t\r\n", at + 1);
      const char c = next == std::string_view::npos ? '}' : text[next];
      if (c == ',' || c == '}' || c == ']') changes.push_back(replace({at, at + 1}, ""));
    }
  }
}

// JSON: commas too many, a comma missing, brackets missing at the end.
Changes json_syntax(const Input& input, const Hit&) {
  if (input.syntax != "json" || !input.document.error) return {};
  const std::string_view text = input.text;
  const auto at = TextMap(text).offset(input.document.error->line, input.document.error->column);
  if (!at || *at == 0) return {};
  Changes changes;
  drop_spare_commas(text, changes);
  const auto last = text.find_last_not_of(" \t\r\n");
  if (const auto closers = open_brackets(text); closers && !closers->empty() && text[last] != ':')
    changes.push_back(replace({last + 1, last + 1}, *closers));
  const auto before = text.find_last_not_of(" \t\r\n", *at - 1);
  const bool value_ends =
      before != std::string_view::npos && (text[before] == '"' || text[before] == '}' || text[before] == ']' ||
                                           std::isalnum(static_cast<unsigned char>(text[before])) != 0);
  if (*at < text.size() && text[*at] == '"' && value_ends) changes.push_back(replace({before + 1, before + 1}, ","));
  return changes;
}

// Tabs become spaces: as deep as the lines above allow.
Changes spaces_for_tabs(const Input& input, const Hit&) {
  const std::string_view text = input.text;
  Changes changes;
  std::vector<std::size_t> depths;  // of the mappings that are open
  bool opens = false;               // the line above ends with ":"
  for (std::size_t at = line_begin(text, std::min<std::size_t>(3, text.size())); at < text.size();
       at = after_line(text, at)) {
    const std::size_t first = skip_blanks(text, at), end = line_end(text, at);
    if (first >= end || text[first] == '#') continue;
    const auto indent = text.substr(at, first - at);
    std::size_t depth = indent.size() + static_cast<std::size_t>(std::count(indent.begin(), indent.end(), '\t'));
    const std::size_t last = depths.empty() ? 0 : depths.back();
    if (contains(indent, "\t")) {
      if (opens) {
        depth = last + 2;
      } else if (!depths.empty()) {
        const auto fit = std::find_if(depths.rbegin(), depths.rend(), [&](std::size_t open) { return open <= depth; });
        depth = fit == depths.rend() ? depths.front() : *fit;
      }
      changes.push_back(replace({at, first}, std::string(depth, ' ')));
    }
    while (!depths.empty() && depths.back() > depth) depths.pop_back();
    if (depths.empty() || depths.back() < depth) depths.push_back(depth);
    opens = text[back_over_blanks(text, end) - 1] == ':';
  }
  return changes;
}

const Node* written_at(const Node& node, const std::string& shown, int line) {
  if (node.line == line && node.shown == shown) return &node;
  for (const Node& child : node.children) {
    if (const Node* found = written_at(child, shown, line)) return found;
  }
  return nullptr;
}

// The first of the two is dead text: the loaders keep the last.
Changes drop_first(const Input& input, const Hit& hit) {
  for (const Duplicate& one : input.document.duplicates) {
    if (one.line != hit.line || one.column != hit.column || one.shown != hit.key) continue;
    const Node* first = written_at(input.root(), one.shown, one.first_line);
    if (first != nullptr && one.first_line != one.line) return remove_at(place_of(*first));
  }
  return {};
}

std::string variable_for(const SecretSpan& secret, const std::string& key) {
  const std::string kind = to_lower(secret.kind);
  if (contains(kind, "hugging face")) return "HF_TOKEN";
  if (contains(kind, "github")) return "GITHUB_TOKEN";
  if (contains(kind, "openai")) return "OPENAI_API_KEY";
  if (contains(kind, "w&b") || contains(kind, "wandb")) return "WANDB_API_KEY";
  std::string name;
  for (const char c : key.substr(key.rfind('.') == std::string::npos ? 0 : key.rfind('.') + 1)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  const bool usable = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0 && name.size() < 60;
  return usable ? name : "SECRET";
}

// A reference to the environment; OmegaConf resolves ${oc.env:NAME}, a shell ${NAME}, other loaders leave it alone.
Changes reference(const Input& input, const Hit& hit) {
  const std::string_view text = input.text;
  const TextMap map(text);
  Changes changes;
  for (const SecretSpan& secret : find_secrets(text)) {
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(secret.begin), '\n') + 1;
    if (line != hit.line) continue;
    const std::string name = variable_for(secret, hit.key);
    std::string written = input.is(kTorchtuneYaml) ? "${oc.env:" + name + "}" : "${" + name + "}";
    const std::size_t start = line_begin(text, secret.begin);
    const auto quotes = std::count(text.begin() + static_cast<std::ptrdiff_t>(start),
                                   text.begin() + static_cast<std::ptrdiff_t>(secret.begin), '\'');
    if (input.syntax == "shell" && quotes % 2 == 1) written = "'\"" + written + "\"'";
    changes.push_back(replace({secret.begin, secret.end}, written));
    changes.back().at = place_of(hit);
  }
  return changes;
}

Changes continue_line(const Input& input, const Hit& hit) {
  const std::string_view text = input.text;
  const auto at = TextMap(text).offset(hit.line, 1);
  if (!at) return {};
  const std::size_t end = line_end(text, *at);
  const std::size_t last = back_over_blanks(text, end);
  if (last == *at) return {};
  if (text[last - 1] == '\\') return last < end ? Changes{replace({last, end}, "")} : Changes{};
  const std::size_t next = after_line(text, end), first = skip_blanks(text, next);
  const bool comment = text.substr(*at, end - *at).find(" #") != std::string_view::npos;
  if (comment || first >= line_end(text, next) || text[first] == '#') return {};
  return {replace({last, end}, " \\")};
}

Changes family_class(const Input& input, const Hit& hit) {
  const ModelLayers* layers = layers_of(text_of(input.context.model.find("model_type")));
  const Node* node = node_at(input, place_of(hit));
  if (layers == nullptr || node == nullptr || words_of(node).size() != 1) return {};
  const std::string name(layers->layers.front());
  return set_at(place_of(hit), node->is_list() ? "[\"" + name + "\"]" : name);
}

Changes storage_dtype(const Input& input, const Hit& hit) {
  const TrainerView view(input);
  std::string compute = text_of(view.argument("bnb_4bit_compute_dtype"));
  if (compute.empty() && is_true(view.argument("bf16"))) compute = "bfloat16";
  if (compute.empty() && is_true(view.argument("fp16"))) compute = "float16";
  const bool known = compute == "bfloat16" || compute == "float16" || compute == "float32";
  return known && contains(hit.key, "quant_storage") ? set_at(place_of(hit), compute) : Changes{};
}

}  // namespace

Fixes any_fixes() {
  return {
      {"syntax-invalid", json_syntax},
      {"yaml-tab-indent", spaces_for_tabs},
      {"duplicate-key", drop_first},
      {"secret-in-config", reference},
      {"shell-continuation-broken", continue_line},
      {"wrap-class-mismatch", family_class},
      {"full-state-dict-large-model", set_it("SHARDED_STATE_DICT")},
      {"bnb-8bit-optimizer-with-fsdp", set_it("adamw_torch_fused")},
      {"fsdp1-bnb4bit-quant-storage", storage_dtype},
  };
}

}  // namespace fx::knowledge
