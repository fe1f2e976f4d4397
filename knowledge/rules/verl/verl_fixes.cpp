#include "base/text.h"
#include "knowledge/edit/cursor.h"
#include "knowledge/formats/verl/verl.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

Changes known_key(const Input&, const Hit& hit) {
  if (hit.key == "actor_rollout_ref.actor.dtype")
    return rename_at(place_of(hit), "actor_rollout_ref.actor.fsdp_config.dtype");
  const auto dot = hit.key.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : hit.key.substr(0, dot);
  const VerlKeys* known = verl_keys(parent);
  const auto near = known == nullptr ? std::nullopt : nearest(hit.key.substr(dot + 1), known->names);
  return near ? rename_at(place_of(hit), (parent.empty() ? "" : parent + ".") + *near) : Changes{};
}

Change replace(const Hit& hit, Span span, std::string text) {
  return {Change::Kind::kReplace, place_of(hit), "", std::move(text), span};
}

Changes drop_plus(const Input& input, const Hit& hit) {
  const auto at = TextMap(input.text).offset(hit.line, hit.column);
  if (!at || input.text.substr(*at, hit.key.size() + 2) != "+" + hit.key + "=") return {};
  return {replace(hit, {*at, *at + 1}, "")};
}

Changes join_words(const Input& input, const Hit& hit) {
  const std::string_view text = input.text;
  const auto at = TextMap(text).offset(hit.line, hit.column);
  if (!at) return {};
  const std::size_t key = text.find(hit.key, *at);
  const std::size_t end = key == std::string_view::npos ? key : key + hit.key.size();
  if (end == std::string_view::npos || key > *at + 2) return {};
  const std::size_t equals = skip_blanks(text, end);
  if (equals >= text.size() || text[equals] != '=') return {};
  const std::size_t value = skip_blanks(text, equals + 1);
  if (value >= line_end(text, value) || text[value] == '\\' || (equals == end && value == equals + 1)) return {};
  return {replace(hit, {end, value}, "=")};
}

Changes strategy(const Input& input, const Hit& hit) {
  const std::string value = to_lower(verl_view(input).text(hit.key));
  if (!contains(value, "fsdp")) return {};
  return set_at(place_of(hit), value == "fsdp" || contains(value, "1") ? "fsdp" : "fsdp2");
}

Changes remove_padding(const Input& input, const Hit& hit) {
  const VerlView view = verl_view(input);
  const std::string key = view.sft                          ? "use_remove_padding"
                          : hit.key.rfind("critic", 0) == 0 ? "critic.model.use_remove_padding"
                                                            : "actor_rollout_ref.model.use_remove_padding";
  const Node* node = view.get(key);
  return node != nullptr ? set_at(place_of(*node), "True") : put_near(place_of(hit), key, "True");
}

}  // namespace

Fixes verl_fixes() {
  return {
      {"verl-unknown-override", known_key},         {"verl-removed-grad-offload", remove_it()},
      {"verl-append-existing-key", drop_plus},      {"verl-space-around-equals", join_words},
      {"verl-strategy-invalid", strategy},          {"verl-offload-policy-overrides-param-offload", remove_it()},
      {"verl-forward-prefetch-fsdp2", remove_it()}, {"verl-sp-needs-remove-padding", remove_padding},
      {"verl-micro-batch-both-set", remove_it()},
  };
}

}  // namespace fx::knowledge
