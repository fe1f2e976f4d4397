#include <algorithm>

#include "base/text.h"
#include "knowledge/edit/locate.h"
#include "knowledge/formats/launch/cluster.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

// The launch whose own flags, unknown flags or program arguments hold this place.
const Launch* launch_at(const Input& input, const Hit& hit) {
  const Node* node = node_at(input, place_of(hit));
  for (const Launch& launch : input.launches) {
    for (const Node* flags : {&launch.flags, &launch.unknown, &launch.arguments}) {
      for (const Node& flag : flags->children) {
        if (&flag == node) return &launch;
      }
    }
  }
  return nullptr;
}

Changes known_flag(const Input& input, const Hit& hit) {
  const Launch* launch = launch_at(input, hit);
  if (launch == nullptr || hit.key.rfind("--", 0) != 0) return {};
  const auto names = flag_names(launch->launcher == Launcher::kTorchrun ? torchrun_flags() : accelerate_flags());
  const auto near = nearest(flag_key(hit.key), names);
  return near ? rename_at(place_of(hit), *near) : Changes{};
}

// In front of the program.
Changes before_program(const Input& input, const Hit& hit) {
  const Launch* launch = launch_at(input, hit);
  if (launch == nullptr || launch->is_module) return {};
  for (const ShellWord& word : input.script.commands[launch->command].words) {
    if (word.text != launch->program || !word.resolved()) continue;
    return {{Change::Kind::kLift, place_of(hit), "", "", {}, {launch->program, word.line, word.column}}};
  }
  return {};
}

Changes gpus_of_node(const Input& input, const Hit& hit) {
  const Launch* launch = launch_at(input, hit);
  if (launch == nullptr || !input.context.gpus || launch->launcher == Launcher::kAccelerate) return {};
  return set_at(place_of(hit), std::to_string(*input.context.gpus));
}

// The host stays as it is written, a variable or a name.
Changes fixed_port(const Input& input, const Hit& hit) {
  const auto entry = locate(input, TextMap(input.text), place_of(hit));
  if (!entry) return {};
  const auto zero = input.text.rfind(":0", entry->value.end);
  if (zero == std::string::npos || zero < entry->value.begin) return {};
  return {{Change::Kind::kReplace, place_of(hit), "", ":29500", {zero, zero + 2}}};
}

Changes without_master(const Input& input, const Hit& hit) {
  const Launch* launch = launch_at(input, hit);
  Changes changes;
  for (const char* name : {"master_addr", "master_port"}) {
    const Node* flag = launch == nullptr ? nullptr : launch->flag(name);
    if (flag != nullptr) changes.push_back(remove_at(place_of(*flag)).front());
  }
  return changes;
}

Changes job_id(const Input& input, const Hit& hit) {
  return input.is(kSbatchScript) ? set_at(place_of(hit), "$SLURM_JOB_ID") : Changes{};
}

// --use_fsdp alone; beside DeepSpeed it is a choice.
Changes only_fsdp(const Input& input, const Hit& hit) {
  const Launch* launch = launch_at(input, hit);
  if (launch == nullptr || launch->flag("use_fsdp") == nullptr || launch->flag("use_deepspeed") != nullptr) return {};
  Changes changes;
  for (const char* name : {"multi_gpu", "cpu", "tpu"}) {
    if (const Node* flag = launch->flag(name)) changes.push_back(remove_at(place_of(*flag)).front());
  }
  return changes;
}

}  // namespace

Fixes launch_fixes() {
  return {
      {"launch-nproc-exceeds-gpus", gpus_of_node},      {"launch-port-zero-multinode", fixed_port},
      {"launch-node-rank-ignored-c10d", remove_it()},   {"launch-master-addr-ignored-c10d", without_master},
      {"launch-rdzv-id-random-per-node", job_id},       {"launch-unknown-flag", known_flag},
      {"launch-flag-after-script", before_program},     {"launch-world-size-env-set-by-hand", remove_it()},
      {"accelerate-launch-exclusive-flags", only_fsdp}, {"accelerate-launch-flag-needs-value", set_it("true")},
  };
}

}  // namespace fx::knowledge
