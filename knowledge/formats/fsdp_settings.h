// The fsdp_config block in any of its homes: accelerate, axolotl, Trainer JSON, a Trainer flag with inline JSON,
// LLaMA-Factory.
#pragma once

#include <string>

#include "knowledge/formats/input.h"

namespace fx::knowledge {

// The key inside the block, with or without its fsdp_ prefix; nullptr when absent.
const Node* fsdp_setting(const Input& input, const std::string& name);
const Node* fsdp_block(const Input& input);
// A training argument: a top-level key of a structured file, or a program flag of a script.
const Node* training_argument(const Input& input, std::string_view name);

}  // namespace fx::knowledge
