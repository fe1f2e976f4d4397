// Fills an Effective from the settings of a file and remembers which setting gave which field. One reader a format.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/formats/effective.h"

namespace fx::knowledge {

class RunReader {
 public:
  explicit RunReader(const Input& source) : input(source) {}

  const Input& input;
  Effective run;
  std::vector<Origin> origins;

  // Remembers that this setting shapes the field; gives the setting back. Absent settings are fine.
  const Node* from(std::string_view field, const Node* node);
  // The same and the value, when the setting is written and of this kind.
  void text(std::string_view field, std::optional<std::string>& out, const Node* node);
  void integer(std::string_view field, std::optional<long long>& out, const Node* node);
  void number(std::string_view field, std::optional<double>& out, const Node* node);
  void flag(std::string_view field, std::optional<bool>& out, const Node* node);
  void dtype(std::string_view field, std::optional<std::string>& out, const Node* node);
  void axis(const char* name, std::optional<long long>& out, const Node* node, long long size);
  void axis(const char* name, std::optional<long long>& out, const Node* node);
  void state_dict(const Node* node);                   // FULL_STATE_DICT and its like
  void wrap(const Node* policy, const Node* classes);  // accelerate's names of both
  void lora_targets(const Node* node);                 // PEFT's names, or all-linear
  void optimizer(const Node* node);                    // transformers' names
  void schedule(const Node* node);
  void precision_switches(const Node* bf16, const Node* fp16);  // the last one that is on wins
};

// "bfloat16", "torch.bfloat16" -> "bf16"; "" for anything else.
std::string short_dtype(std::string_view text);

// One function a format; each speaks only about what its format says.
void read_accelerate_run(RunReader& reader);
void read_trainer_run(RunReader& reader);  // also LLaMA-Factory v0
void read_axolotl_run(RunReader& reader);
void read_torchtitan_run(RunReader& reader);
void read_torchtune_run(RunReader& reader);
void read_deepspeed_run(RunReader& reader);
void read_llamafactory_run(RunReader& reader);
void read_verl_run(RunReader& reader);
void read_slime_run(RunReader& reader);
void read_launch_run(RunReader& reader);
void read_env_run(RunReader& reader);
void read_run_spec_run(RunReader& reader);

}  // namespace fx::knowledge
