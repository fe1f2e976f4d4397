// What a file of the same family keeps beside the settings that a run has fields for.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/convert/settings.h"
#include "knowledge/formats/torchtitan/torchtitan.h"

namespace fx::knowledge {
namespace {

std::string bare(const std::string& name) {
  return name.rfind("fsdp_", 0) == 0 ? name.substr(5) : name;
}

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Settings inside fsdp_config that stay true.
bool stays_in_block(const std::string& name, bool v2) {
  static constexpr std::array<std::string_view, 6> always = {
      "ignored_modules",       "activation_checkpointing_offload", "cpu_offload_pin_memory",
      "final_state_dict_type", "mixed_precision_policy",           "xla_fsdp_settings"};
  static constexpr std::array<std::string_view, 5> first = {"backward_prefetch", "forward_prefetch", "use_orig_params",
                                                            "sync_module_states", "limit_all_gathers"};
  return holds(always, bare(name)) || (!v2 && holds(first, bare(name)));
}

// Settings at the top that the new strategy makes void.
bool is_void(const std::string& name, const Effective& run) {
  static constexpr std::array<std::string_view, 4> never = {"deepspeed", "deepspeed_config", "megatron_lm_config",
                                                            "fsdp"};
  static constexpr std::array<std::string_view, 3> switches = {"bf16", "fp16", "fp8"};
  static constexpr std::array<std::string_view, 5> sharded = {"fsdp_version", "gradient_checkpointing",
                                                              "fsdp_transformer_layer_cls_to_wrap",
                                                              "fsdp_min_num_params", "activation_checkpointing"};
  static constexpr std::array<std::string_view, 5> axes = {"dp_replicate_size", "dp_shard_size", "tensor_parallel_size",
                                                           "context_parallel_size", "expert_parallel_size"};
  if (holds(never, name) || holds(switches, name) || holds(axes, name)) return true;
  if (!is_sharded(run) && contains(name, "fsdp")) return true;
  return (is_sharded(run) || name != "gradient_checkpointing") && holds(sharded, name);
}

bool is_attention_switch(const std::string& name) {
  static constexpr std::array<std::string_view, 5> switches = {"flash_attention", "flex_attention", "sdp_attention",
                                                               "s2_attention", "xformers_attention"};
  return holds(switches, name);
}

Json to_value(const Node& node) {
  Json out;
  if (node.is_map()) {
    out = Json::object();
    for (const Node& child : node.children) out[child.name] = to_value(child);
  } else if (node.is_list()) {
    out = Json::array();
    for (const Node& child : node.children) out.push_back(to_value(child));
  } else if (node.kind == Node::Kind::kBool) {
    out = is_true(&node);
  } else if (const auto whole = integer_of(&node); whole && node.kind == Node::Kind::kInteger) {
    out = *whole;
  } else if (const auto number = number_of(&node); number && node.kind == Node::Kind::kFloat) {
    out = *number;
  } else if (!node.is_null()) {
    out = node.text;
  }
  return out;
}

bool holds_secret(const Node& node) {
  if (node.is_scalar()) return is_secret_setting(node.name, node.text);
  return std::any_of(node.children.begin(), node.children.end(), holds_secret);
}

// A setting of torchtitan's own schema: a command line may extend it, a file of ours does not.
bool is_titan_setting(std::string_view name) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || name == "job.config_file") return false;
  for (const TitanSection& section : titan_sections()) {
    if (section.name != name.substr(0, dot)) continue;
    const std::string_view key = name.substr(dot + 1);
    return std::find(section.keys.begin(), section.keys.end(), key) != section.keys.end();
  }
  return false;
}

class Carrier {
 public:
  Carrier(const EffectiveRun& source, const Effective& run, Json& out) : source_(source), run_(run), out_(out) {}

  void top(const Node& node) {
    if (node.name == "fsdp_config") return block(node, "fsdp_config");
    if (node.name == "parallelism_config") return block(node, "parallelism_config");
    if (node.name == "datasets" && out_.contains("datasets")) {  // the run only knows the first one's path
      if (!holds_secret(node)) take(node, out_["datasets"]);
      return;
    }
    const bool spec_block = node.name == "fsdp" && node.is_map();  // the run spec's, not the words of the others
    if (!spec_block && is_void(node.name, run_)) return;
    if (is_attention_switch(node.name)) out_.erase("attn_implementation");  // axolotl refuses both spellings together
    merge(node, out_);
  }
  void at(const std::vector<std::string_view>& path, const Node& node) {
    Json* place = &out_;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) place = &(*place)[std::string(path[i])];
    const std::string last(path.back());
    if (place->is_object() || place->is_null()) {
      if (!wins(place->contains(last), node) && !holds_secret(node)) take(node, (*place)[last]);
    }
  }
  std::vector<std::pair<std::string, int>> taken;

 private:
  // What is written stays where it stands for a field of the run; a stand-in gives way to the source.
  bool wins(bool written, const Node& node) const {
    return written && std::any_of(source_.origins.begin(), source_.origins.end(), [&](const Origin& origin) {
             return origin.line == node.line && origin.name == node.name;
           });
  }
  void note(const Node& node) {
    if (node.is_scalar() || node.children.empty() || node.is_list()) taken.emplace_back(node.name, node.line);
    for (const Node& child : node.children) note(child);
  }
  void take(const Node& node, Json& place) {
    place = to_value(node);
    note(node);
  }
  void merge(const Node& node, Json& place) {
    if (node.is_map() && place.contains(node.name) && place[node.name].is_object()) {
      for (const Node& child : node.children) merge(child, place[node.name]);
    } else if (!wins(place.contains(node.name), node) && !node.is_null()) {
      if (!holds_secret(node)) {
        take(node, place[node.name]);
      } else if (node.is_map()) {
        for (const Node& child : node.children) merge(child, place[node.name]);
      }
    }
  }
  void block(const Node& node, const char* name) {
    if (!out_.contains(name)) return;
    const bool fsdp = std::string_view(name) == "fsdp_config";
    for (const Node& child : node.children) {
      if (fsdp ? stays_in_block(child.name, run_.fsdp_version == 2) : child.name.rfind("parallelism_config_", 0) == 0)
        merge(child, out_[name]);
    }
  }

  const EffectiveRun& source_;
  const Effective& run_;
  Json& out_;
};

}  // namespace

std::vector<std::pair<std::string, int>> carry_settings(const Input& source, const EffectiveRun& from,
                                                        const Target& target, const Effective& run, Json& out) {
  const Target* own = target_of(source.format);
  const bool lone_block = source.is(kFsdpConfigJson) || target.format == kFsdpConfigJson;
  if (own == nullptr || own->family != target.family || source.is(kTorchtitanPython)) return {};
  Carrier carrier(from, run, out);
  if (lone_block) {
    if (source.format == target.format) {
      for (const Node& child : source.root().children) {
        if (stays_in_block(child.name, run.fsdp_version == 2)) carrier.at({child.name}, child);
      }
    }
    return std::move(carrier.taken);
  }
  for (const Node& child : source.root().children) carrier.top(child);
  if (source.format == kAccelerateLaunch) return std::move(carrier.taken);
  for (const auto& launch : source.launches) {
    for (const Node& flag : launch.arguments.children) {
      if (own->family == "torchtitan" && is_titan_setting(flag.name)) carrier.at(split(flag.name, '.'), flag);
      if (own->family == "trainer") carrier.top(flag);
    }
  }
  return std::move(carrier.taken);
}

}  // namespace fx::knowledge
