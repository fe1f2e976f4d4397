#include "knowledge/formats/verl/verl.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"

namespace fx::knowledge {
namespace {

bool is_key(std::string_view text) {
  return !text.empty() && text.front() != '-' && is_flag_or_override(std::string(text) + "=");
}

VerlOverride make_override(const ShellWord& word, std::string_view body, std::string_view value) {
  VerlOverride out;
  while (!body.empty() && (body.front() == '+' || body.front() == '~')) {
    out.sign += body.front();
    body.remove_prefix(1);
  }
  out.node.name = out.node.shown = std::string(body);
  out.node.text = std::string(value);
  out.node.kind = yaml_kind(out.node.text);
  out.node.line = word.line;
  out.node.column = word.column;
  return out;
}

void read_words(const std::vector<ShellWord>& words, VerlView& view) {
  constexpr std::size_t kMaxOverrides = 5000;
  for (std::size_t i = 0; i < std::min(words.size(), kMaxOverrides); ++i) {
    const std::string_view text = words[i].text;
    if (text.empty() || text.front() == '-') continue;
    const auto equals = text.find('=');
    const std::string_view next = i + 1 < words.size() ? std::string_view(words[i + 1].text) : std::string_view();
    if (equals == std::string_view::npos) {
      if (!is_key(text) || next.substr(0, 1) != "=") continue;
      view.spaced.push_back(make_override(words[i], text, "").node);
      if (next.size() > 1) view.overrides.push_back(make_override(words[i], text, next.substr(1)));
      continue;
    }
    if (equals == 0) continue;
    VerlOverride override = make_override(words[i], text.substr(0, equals), text.substr(equals + 1));
    const bool lone_value =
        !next.empty() && next.find('=') == std::string_view::npos && next[0] != '-' && next[0] != '$';
    if (equals + 1 == text.size() && lone_value && !words[i].quoted) {
      view.spaced.push_back(override.node);
      override.node.text = std::string(next);
    }
    view.overrides.push_back(std::move(override));
  }
}

}  // namespace

VerlView verl_view(const Input& input) {
  VerlView view;
  const Launch* launch = input.launch_of("verl.trainer.");
  if (launch == nullptr) return view;
  view.found = true;
  view.sft = contains(launch->program, "sft");
  view.megatron = contains(input.text, "megatron_trainer");
  const Node* name = launch->arguments.find("config_name");
  const bool own_config = launch->arguments.find("config_path") != nullptr ||
                          launch->arguments.find("config_dir") != nullptr ||
                          (name != nullptr && name->text != "ppo_trainer");
  view.complete = !has_open_arguments(*launch) && !own_config;
  view.stock_config = contains(launch->program, "main_ppo") && !own_config && !view.megatron;
  read_words(launch->words, view);
  return view;
}

const Node* VerlView::get(std::string_view key) const {
  for (auto it = overrides.rbegin(); it != overrides.rend(); ++it) {
    if (it->node.name == key) return &it->node;
  }
  return nullptr;
}

std::string VerlView::text(std::string_view key, std::string_view fallback) const {
  const Node* node = get(key);
  return node == nullptr ? std::string(fallback) : node->text;
}

const std::vector<std::string>& verl_roles() {
  static const std::vector<std::string> roles = {"actor_rollout_ref.actor", "actor_rollout_ref.ref", "critic"};
  return roles;
}

std::string verl_fsdp_path(std::string_view role) {
  return role == "critic" ? "critic.model.fsdp_config" : std::string(role) + ".fsdp_config";
}

std::string VerlView::strategy(std::string_view role) const {
  for (const std::string& key : {std::string(role) + ".strategy", verl_fsdp_path(role) + ".strategy"}) {
    if (const Node* node = get(key)) return node->text;
  }
  return role == "actor_rollout_ref.ref" ? strategy("actor_rollout_ref.actor") : "fsdp";
}

}  // namespace fx::knowledge
