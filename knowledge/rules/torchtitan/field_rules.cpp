// torchtitan's fields: where they stand and what they may be.
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/formats/torchtitan/torchtitan.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = TitanView;
constexpr std::uint32_t kFiles = kTorchtitanToml | kTorchtitanCli | kTorchtitanPython;

const TitanMoved* moved(std::string_view path) {
  for (const auto& row : titan_moved()) {
    if (row.from == path) return &row;
  }
  return nullptr;
}

const TitanSection* section_of(std::string_view name) {
  for (const auto& section : titan_sections()) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

bool contains_word(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A key of a section: unknown when the list is complete, or when it is nearly one of the list.
void check_key(const Node& key, const std::string& name, const TitanSection& section, Hits& hits) {
  if (hits.full() || contains_word(section.keys, name)) return;
  const std::string path = std::string(section.name) + "." + name;
  if (const TitanMoved* to = moved(path)) {
    hits.at(key, "It is now " + std::string(to->to) + ".", "Write " + std::string(to->to) + ".");
    return;
  }
  const auto near = nearest(name, section.keys);
  if (!near && !section.complete) return;
  hits.at(key, "The section " + std::string(section.name) + " has no field " + quoted(name) + ".",
          near ? "Write " + std::string(section.name) + "." + *near + "." : "");
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const auto& section : titan_sections()) names.emplace_back(section.name);
  return names;
}

void check_table(const Node& table, const std::string& path, Hits& hits) {
  const TitanSection* section = section_of(path);
  if (section == nullptr) return;
  for (const Node& key : table.children) {
    if (moved(join_path(path, key.name)) == nullptr) check_key(key, key.name, *section, hits);
    if (key.is_map()) check_table(key, join_path(path, key.name), hits);
  }
}

void unknown_toml(const Input& input, Hits& hits) {
  if (is_set(input.root().at("job.custom_config_module")) || is_set(input.root().at("experimental.custom_args_module")))
    return;
  for (const Node& table : input.root().children) {
    if (moved(table.name) != nullptr || hits.full()) continue;
    if (section_of(table.name) != nullptr) {
      check_table(table, table.name, hits);
      continue;
    }
    const auto near = nearest(table.name, section_names());
    hits.at(table, "There is no section " + quoted(table.name) + ".", near ? "Write [" + *near + "]." : "");
  }
}

// A Python config (--module) may have classes of its own behind most sections; what every one has is in these.
const std::vector<std::string> kFixedSections = {"training", "parallelism", "compile"};

void unknown_cli(const V& view, Hits& hits) {
  const Node& flags = view.launch()->arguments;
  const bool python = flags.find("module") != nullptr || flags.find("config") != nullptr;
  const bool extended = flags.find("job.custom_config_module") != nullptr;
  for (const Node& flag : flags.children) {
    const auto dot = flag.name.find('.');
    if (dot == std::string::npos || extended || hits.full()) continue;
    const std::string name = flag.name.substr(0, dot), key = flag.name.substr(dot + 1);
    const TitanSection* section = section_of(name);
    if (section == nullptr) {
      const auto near = nearest(name, python ? kFixedSections : section_names());
      if (near) hits.at(flag, "There is no section " + quoted(name) + ".", "Write --" + *near + "." + key + ".");
    } else if (!contains(key, ".") && (!python || contains_word(kFixedSections, name))) {
      check_key(flag, key, *section, hits);
    }
  }
}

void unknown_field(const Input& input, Hits& hits) {
  const V view(input);
  if (view.launch() != nullptr) {
    unknown_cli(view, hits);
  } else if (input.is(kTorchtitanToml)) {
    unknown_toml(input, hits);
  }
}

void moved_field(const Input& input, Hits& hits) {
  for (const Node& table : input.root().children) {
    const TitanMoved* row = moved(table.name);
    if (row != nullptr)
      hits.at(table, "The table is now [" + std::string(row->to) + "].", "[" + std::string(row->to) + "]");
    for (const Node& key : table.children) {
      const TitanMoved* to = moved(table.name + "." + key.name);
      if (to != nullptr) hits.at(key, "It is now " + std::string(to->to) + ".", "Write " + std::string(to->to) + ".");
    }
  }
}

void degree_invalid(const Input& input, Hits& hits) {
  const V view(input);
  for (const char* axis : {"data_parallel_replicate", "data_parallel_shard", "context_parallel", "tensor_parallel",
                           "pipeline_parallel", "expert_parallel", "expert_tensor_parallel"}) {
    for (const Node* node : view.all("parallelism", std::string(axis) + "_degree")) {
      const auto value = integer_of(node);
      if (!value || *value >= 1 || (std::string_view(axis) == "data_parallel_shard" && *value == -1)) continue;
      hits.at(*node, quoted(node->text) + " is no degree.");
    }
  }
}

void reshard(const Input& input, Hits& hits) {
  for (const Node* node : V(input).all("parallelism", "fsdp_reshard_after_forward")) {
    if (contains(node->text, "$")) continue;
    if (node->text == "default" || node->text == "always" || node->text == "never") continue;
    if (input.is(kTorchtitanPython) && !node->quoted && node->kind == Node::Kind::kString) continue;  // a variable
    const char* policy = is_true(node) ? "always" : is_false(node) ? "never" : "default";
    hits.at(*node, quoted(node->text) + " is not default, always or never.",
            "fsdp_reshard_after_forward = \"" + std::string(policy) + "\"");
  }
}

void ac_mode(const Input& input, Hits& hits) {
  bad_value([](const Input& in) { return V(in).get("activation_checkpoint", "mode"); },
            {"selective", "full", "memory_budget", "none"})(input, hits);
}

void ac_option(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.get("activation_checkpoint", "selective_ac_option");
  if (node == nullptr || node->text == "op" || contains(node->text, "$")) return;
  const auto mode = text_of(view.get("activation_checkpoint", "mode"));
  if (!mode.empty() && mode != "selective") return;
  if (integer_of(node).value_or(0) <= 0) hits.at(*node, quoted(node->text) + " is neither 'op' nor a positive number.");
}

void memory_budget(const Input& input, Hits& hits) {
  const V view(input);
  const Node* mode = view.get("activation_checkpoint", "mode");
  if (text_of(mode) == "memory_budget" && !view.model_compiled()) hits.at(*mode);
}

void async_tp(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.parallel("enable_async_tensor_parallel");
  if (is_true(node) && !view.model_compiled()) hits.at(*node);
}

void float8(const Input& input, Hits& hits) {
  const V view(input);
  const std::string recipe = text_of(view.get("quantize.linear.float8", "recipe_name"));
  const Node* gather = view.get("quantize.linear.float8", "enable_fsdp_float8_all_gather");
  if ((recipe == "rowwise" || recipe == "rowwise_with_gw_hp") && is_true(gather)) hits.at(*gather);
}

void keep_one(const Input& input, Hits& hits) {
  const Node* node = V(input).get("checkpoint", "keep_latest_k");
  if (integer_of(node) == 1) hits.at(*node);
}

void tokenizer(const Input& input, Hits& hits) {
  const Node* node = V(input).get("model", "tokenizer_path");
  if (is_set(node)) hits.at(*node);
}

bool toml_gone(const Input& input) {
  return input.context.from_day("torchtitan", "2026-02-23", false).value_or(false);
}

void toml_removed(const Input& input, Hits& hits) {
  if (!toml_gone(input)) return;
  if (input.is(kTorchtitanToml)) hits.root();
  for (const auto& launch : input.launches) {
    const Node* file = launch.arguments.find("job.config_file");
    if (file != nullptr && contains(launch.program, "torchtitan.train")) hits.at(*file);
  }
}

void missing_config(const Input& input, Hits& hits) {
  const V view(input);
  if (!toml_gone(input) || view.launch() == nullptr) return;
  if (has_open_arguments(*view.launch()) || passes_script_arguments(*view.launch())) return;
  const Node& arguments = view.launch()->arguments;
  if (arguments.find("job.config_file") != nullptr) return;
  for (const char* name : {"module", "config"}) {
    if (arguments.find(name) != nullptr) continue;
    hits.root("--" + std::string(name) + " is missing.");
    return;
  }
}

void symm_mem(const Input& input, Hits& hits) {
  if (!input.context.below_sm90()) return;
  for (const Node* node : V(input).all("parallelism", "enable_fsdp_symm_mem")) {
    if (is_true(node)) hits.at(*node);
  }
}

}  // namespace

Rules torchtitan_field_rules() {
  return {
      {"torchtitan-unknown-field", Severity::kError, kTorchtitanToml | kTorchtitanCli, unknown_field},
      {"torchtitan-moved-field", Severity::kError, kTorchtitanToml, moved_field},
      {"torchtitan-degree-invalid", Severity::kError, kFiles, degree_invalid},
      {"torchtitan-reshard-invalid", Severity::kError, kFiles, reshard},
      {"torchtitan-ac-mode-invalid", Severity::kError, kTorchtitanToml | kTorchtitanCli, ac_mode},
      {"torchtitan-selective-ac-option-invalid", Severity::kError, kTorchtitanToml, ac_option},
      {"torchtitan-memory-budget-needs-compile", Severity::kError, kTorchtitanToml, memory_budget},
      {"torchtitan-async-tp-needs-compile", Severity::kError, kTorchtitanToml, async_tp},
      {"torchtitan-float8-recipe-allgather", Severity::kError, kTorchtitanToml, float8},
      {"torchtitan-keep-latest-k-one", Severity::kError, kTorchtitanToml | kTorchtitanCli, keep_one},
      {"torchtitan-tokenizer-path-deprecated", Severity::kWarning, kTorchtitanToml, tokenizer},
      {"torchtitan-toml-removed", Severity::kError, kTorchtitanToml | kTorchtitanCli, toml_removed},
      {"torchtitan-cli-missing-config", Severity::kError, kTorchtitanCli, missing_config},
      {"torchtitan-symm-mem-needs-sm90", Severity::kError, kTorchtitanPython | kTorchtitanCli, symm_mem},
  };
}

}  // namespace fx::knowledge
