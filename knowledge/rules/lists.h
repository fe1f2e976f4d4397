// The rules of each folder; catalogue.cpp puts them in order.
#pragma once

#include <vector>

#include "knowledge/rules/rule.h"

namespace fx::knowledge {

using Rules = std::vector<Rule>;
Rules any_form_rules();
Rules any_model_rules();
Rules accelerate_key_rules();
Rules accelerate_fsdp2_rules();
Rules accelerate_wrap_rules();
Rules accelerate_world_rules();
Rules accelerate_mesh_rules();
Rules launch_rendezvous_rules();
Rules launch_flag_rules();
Rules sbatch_rules();
Rules env_nccl_rules();
Rules env_allocator_rules();
Rules env_cluster_rules();
Rules slime_rules();
Rules relax_rules();
Rules any_quantization_rules();
Rules trainer_option_rules();
Rules trainer_config_rules();
Rules axolotl_config_rules();
Rules axolotl_run_rules();
Rules deepspeed_rules();
Rules torchtitan_field_rules();
Rules torchtitan_mesh_rules();
Rules torchtune_rules();
Rules llamafactory_rules();
Rules verl_override_rules();
Rules verl_batch_rules();
Rules run_spec_rules();

}  // namespace fx::knowledge
