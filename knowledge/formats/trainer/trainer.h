// Hugging Face Trainer arguments: from a command line, a TrainingArguments JSON, a lone fsdp_config JSON, or
// LLaMA-Factory yaml.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "knowledge/formats/input.h"

namespace fx::knowledge {

class TrainerView {
 public:
  explicit TrainerView(const Input& input);
  TrainerView(const TrainerView&) = delete;
  TrainerView& operator=(const TrainerView&) = delete;

  const Node* argument(std::string_view name) const;
  const Node* block() const;                           // fsdp_config as a mapping; nullptr when absent or a file name
  const Node* setting(const std::string& name) const;  // inside it, with or without fsdp_
  const Node* fsdp() const { return argument("fsdp"); }
  const std::vector<std::string>& options() const { return options_; }  // words of fsdp, without true and false
  bool has_option(std::string_view word) const;
  bool fsdp_on() const;          // by the Trainer's own arguments
  bool runs_under_fsdp() const;  // or by `accelerate launch --use_fsdp`
  // 1 or 2; from fsdp_config, else what the transformers version defaults to; nullopt when neither is known.
  std::optional<int> version() const;
  const Launch* launch() const { return launch_; }

 private:
  const Input& input_;
  const Launch* launch_ = nullptr;
  Node inline_block_;
  bool has_inline_ = false;
  std::vector<std::string> options_;
};

const std::vector<std::string>& trainer_fsdp_options();
const std::vector<std::string>& trainer_fsdp_keys();

}  // namespace fx::knowledge
