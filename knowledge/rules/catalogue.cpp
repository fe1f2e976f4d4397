#include <iterator>

#include "knowledge/rules/lists.h"

namespace fx::knowledge {

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> rules = [] {
    using List = Rules (*)();
    static constexpr List lists[] = {
        any_form_rules,        any_model_rules,
        accelerate_key_rules,  accelerate_fsdp2_rules,
        accelerate_wrap_rules, accelerate_world_rules,
        accelerate_mesh_rules, launch_rendezvous_rules,
        launch_flag_rules,     sbatch_rules,
        env_nccl_rules,        env_allocator_rules,
        env_cluster_rules,     slime_rules,
        relax_rules,           any_quantization_rules,
        trainer_option_rules,  trainer_config_rules,
        axolotl_config_rules,  axolotl_run_rules,
        deepspeed_rules,       torchtitan_field_rules,
        torchtitan_mesh_rules, torchtune_rules,
        llamafactory_rules,    verl_override_rules,
        verl_batch_rules,      run_spec_rules,
    };
    std::vector<Rule> all;
    for (const List list : lists) {
      Rules some = list();
      all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    return all;
  }();
  return rules;
}

}  // namespace fx::knowledge
