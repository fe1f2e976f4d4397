#include "knowledge/convert/targets.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "knowledge/config/document_writer.h"

namespace fx::knowledge {
namespace {

std::string emit_json(const Json& json) {
  return to_text(json, 2) + "\n";
}
std::string emit_command(const Json& json) {
  return "torchrun train.py \\\n    " + write_flags(json) + "\n";
}

Target named(Format format, std::string_view alias, std::string_view label, std::string_view family) {
  Target t;
  t.format = format;
  t.alias = alias;
  t.label = label;
  t.family = family;
  return t;
}

Target accelerate() {
  Target t = named(kAccelerateYaml, "accelerate", "accelerate", "accelerate");
  t.fsdp1 = true;
  t.axes = {"dp_replicate", "dp_shard", "tp", "cp", "sp"};
  t.precisions = {"bf16", "fp16", "fp8", "fp32"};
  t.write = write_accelerate;
  t.emit = write_yaml;
  return t;
}
Target axolotl() {
  Target t = named(kAxolotlYaml, "axolotl", "axolotl", "axolotl");
  t.fsdp1 = true;
  t.axes = {"dp_replicate", "dp_shard", "tp", "cp", "ep"};
  t.precisions = {"bf16", "fp16", "fp8", "fp32"};
  t.adapters = true;
  t.write = write_axolotl;
  t.emit = write_yaml;
  return t;
}
Target torchtitan() {
  Target t = named(kTorchtitanToml, "torchtitan", "torchtitan", "torchtitan");
  t.axes = {"dp_replicate", "dp_shard", "tp", "cp", "pp", "ep"};
  t.precisions = {"bf16", "fp32"};
  t.schedules = {"linear", "cosine", "sqrt", "constant"};
  t.steps_only = true;
  t.write = write_torchtitan;
  t.emit = write_toml;
  return t;
}
Target trainer(Format format, std::string_view alias, Json (*write)(const Effective&, WriteNotes&),
               std::string (*emit)(const Json&)) {
  Target t = named(format, alias, "the Trainer", "trainer");
  t.fsdp1 = true;
  t.hybrid_mesh = false;
  t.axes = {"dp_replicate", "dp_shard"};  // implied by the ranks
  t.precisions = {"bf16", "fp16", "fp32"};
  t.write = write;
  t.emit = emit;
  return t;
}
Target run_spec() {
  Target t = named(kRunSpec, "run-spec", "the run spec", "run-spec");
  t.axes = {"dp_replicate", "dp_shard"};
  t.precisions = {"bf16", "fp32"};
  t.schedules = {"cosine", "linear", "constant"};
  t.adapters = true;
  t.adamw_only = true;
  t.whole_epochs = true;
  t.write = write_run_spec;
  t.emit = emit_json;
  return t;
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> list = {
      accelerate(),
      axolotl(),
      torchtitan(),
      trainer(kTrainingArgsJson, "trainer", write_training_arguments, emit_json),
      trainer(kTrainerCli, "trainer-cli", write_training_arguments, emit_command),
      trainer(kFsdpConfigJson, "fsdp-config", write_fsdp_config, emit_json),
      run_spec(),
  };
  return list;
}

const Target* find_target(std::string_view name) {
  for (const Target& target : targets()) {
    if (target.alias == name || to_string(target.format) == name) return &target;
  }
  return nullptr;
}

const Target* target_of(Format format) {
  if (format == kTorchtitanCli || format == kTorchtitanPython) format = kTorchtitanToml;
  if (format == kAccelerateLaunch) format = kAccelerateYaml;
  for (const Target& target : targets()) {
    if (target.format == format) return &target;
  }
  return nullptr;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Target& target : targets()) names.emplace_back(target.alias);
  return names;
}

}  // namespace fx::knowledge
