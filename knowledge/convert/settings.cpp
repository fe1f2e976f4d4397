#include "knowledge/convert/settings.h"

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/formats/slime/slime.h"
#include "knowledge/formats/verl/verl.h"

namespace fx::knowledge {
namespace {

// Values that repeat a default of accelerate or DeepSpeed.
bool says_nothing(const Node& node) {
  static constexpr std::pair<std::string_view, std::string_view> rows[] = {{"compute_environment", "LOCAL_MACHINE"},
                                                                           {"main_training_function", "main"},
                                                                           {"rdzv_backend", "static"},
                                                                           {"same_network", "true"},
                                                                           {"machine_rank", "0"},
                                                                           {"main_process_port", "0"},
                                                                           {"gpu_ids", "all"},
                                                                           {"version", "1"}};
  if (node.is_empty() || node.text == "auto" || is_false(&node)) return true;
  for (const auto& [name, value] : rows) {
    if (node.name == name && node.text == value) return true;
  }
  return false;
}

std::string value_of(const Node& node) {
  return node.is_list() ? join(words_of(&node), ", ") : node.text;
}

Setting setting_of(const Node& node) {
  Setting out{node.shown, node.name, node.line, value_of(node), false, says_nothing(node)};
  out.secret = is_secret_setting(out.name, out.value);
  return out;
}

void collect(const Node& node, std::vector<Setting>& out) {
  for (const Node& child : node.children) {
    const bool maps = child.is_list() && !child.children.empty() && child.children.front().is_map();
    if (child.is_map() || maps) {
      collect(child, out);
    } else if (!child.name.empty()) {
      out.push_back(setting_of(child));
    }
  }
}

void collect_flags(const Node& flags, std::vector<Setting>& out) {
  for (const Node& flag : flags.children) {
    if (flag.text.rfind('{', 0) == 0) {
      Document inner = read_json(flag.text);
      if (!inner.error && inner.root.is_map()) {
        std::vector<Setting> found;
        collect(inner.root, found);
        for (Setting& setting : found) {
          setting.key = flag.shown;
          setting.line = flag.line;
          out.push_back(std::move(setting));
        }
        continue;
      }
    }
    out.push_back(setting_of(flag));
  }
}

}  // namespace

bool is_secret_setting(const std::string& name, const std::string& value) {
  return !find_secrets(value).empty() || !find_secrets(name + "=" + value).empty();
}

std::vector<Setting> settings_of(const Input& input) {
  std::vector<Setting> out;
  collect(input.root(), out);
  if (input.is(kVerlOverrides)) {
    for (const auto& override : verl_view(input).overrides) out.push_back(setting_of(override.node));
    return out;
  }
  if (input.is(kSlimeCli)) {
    collect_flags(slime_view(input).flags, out);
    return out;
  }
  for (const auto& launch : input.launches) {
    collect_flags(launch.flags, out);
    collect_flags(launch.arguments, out);
  }
  return out;
}

}  // namespace fx::knowledge
