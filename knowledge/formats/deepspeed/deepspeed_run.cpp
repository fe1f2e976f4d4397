// The run of a DeepSpeed JSON. "auto" leaves a field open: the Trainer fills it.
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/run_reader.h"

namespace fx::knowledge {
namespace {

void read_zero(const Node& root, RunReader& reader) {
  Effective& run = reader.run;
  const auto zero = [&](const std::string& key) { return root.at("zero_optimization." + key); };
  const long long stage = integer_of(reader.from("strategy", zero("stage"))).value_or(0);
  run.strategy = stage <= 0 ? "ddp" : "zero" + std::to_string(stage);
  if (stage == 3) run.reshard_after_forward = true;
  if (stage == 2) run.reshard_after_forward = false;
  run.cpu_offload = false;
  for (const char* key : {"offload_param", "offload_optimizer"}) {
    const Node* device = reader.from("cpu_offload", zero(std::string(key) + ".device"));
    const std::string name = to_lower(text_of(device));
    if (name == "cpu" || name == "nvme") run.cpu_offload = true;
  }
  if (const auto group = integer_of(reader.from("reshard_group", zero("zero_hpz_partition_size"))); group && *group > 1)
    run.reshard_group = group;
  const Node* gather = zero("stage3_gather_16bit_weights_on_model_save");
  if (gather != nullptr || stage == 3) run.state_dict = is_true(reader.from("state_dict", gather)) ? "full" : "sharded";
}

void read_training(const Node& root, RunReader& reader) {
  Effective& run = reader.run;
  reader.integer("micro_batch", run.micro_batch, root.find("train_micro_batch_size_per_gpu"));
  reader.integer("grad_accum", run.grad_accum, root.find("gradient_accumulation_steps"));
  reader.integer("global_batch", run.global_batch, root.find("train_batch_size"));
  reader.number("max_grad_norm", run.max_grad_norm, root.find("gradient_clipping"));
  const std::string name = to_lower(text_of(reader.from("optimizer", root.at("optimizer.type"))));
  if (!name.empty()) run.optimizer = name == "adam" ? "adamw" : name;
  reader.number("learning_rate", run.learning_rate, root.at("optimizer.params.lr"));
  reader.number("weight_decay", run.weight_decay, root.at("optimizer.params.weight_decay"));
  reader.number("adam_epsilon", run.adam_epsilon, root.at("optimizer.params.eps"));
  const Node* betas = root.at("optimizer.params.betas");
  if (betas != nullptr && betas->is_list() && betas->children.size() == 2) {
    reader.from("adam_beta1", betas);
    reader.from("adam_beta2", betas);
    run.adam_beta1 = number_of(&betas->children[0]);
    run.adam_beta2 = number_of(&betas->children[1]);
  }
  reader.integer("warmup_steps", run.warmup_steps, root.at("scheduler.params.warmup_num_steps"));
}

}  // namespace

void read_deepspeed_run(RunReader& reader) {
  const Node& root = reader.input.root();
  read_zero(root, reader);
  reader.precision_switches(root.at("bf16.enabled"), root.at("fp16.enabled"));
  if (const Node* block = root.find("activation_checkpointing"); block != nullptr && block->is_map()) {
    const bool any = std::any_of(block->children.begin(), block->children.end(), [&](const Node& child) {
      return is_true(reader.from("activation_checkpointing", &child));
    });
    reader.run.activation_checkpointing = any ? "full" : "none";
  }
  read_training(root, reader);
}

}  // namespace fx::knowledge
