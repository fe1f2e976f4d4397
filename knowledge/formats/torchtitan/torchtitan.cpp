#include "knowledge/formats/torchtitan/torchtitan.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"

namespace fx::knowledge {
TitanView::TitanView(const Input& input) : input_(input), world_(input.context.world_size()) {
  launch_ = input.launch_of("torchtitan.train");
  if (launch_ == nullptr) return;
  const auto processes = processes_per_node(*launch_), nodes = launch_nodes(input, *launch_);
  if (processes && nodes) world_ = *processes * *nodes;
}

const Node* TitanView::get(const std::string& section, const std::string& key) const {
  if (launch_ != nullptr) return launch_->arguments.find(section + "." + key);
  if (!input_.is(kTorchtitanPython)) return input_.root().at(section + "." + key);
  const auto places = all(section, key);
  return places.empty() ? nullptr : places.front();
}

std::vector<const Node*> TitanView::all(const std::string& section, const std::string& key) const {
  std::vector<const Node*> out;
  if (!input_.is(kTorchtitanPython)) {
    if (const Node* node = get(section, key)) out.push_back(node);
    return out;
  }
  for (const Node& place : input_.root().children) {
    const Node* node = place.name == section ? place.find(key) : nullptr;
    if (node != nullptr) out.push_back(node);
  }
  return out;
}

long long TitanView::size(const std::string& axis) const {
  const auto value = integer_of(degree(axis));
  if (value && (*value > 1000000 || *value < -1)) return 1;
  return value.value_or(axis == "data_parallel_shard" ? -1 : 1);
}

std::optional<long long> TitanView::shard() const {
  const long long given = size("data_parallel_shard");
  if (given != -1) return given;
  const long long rest =
      size("data_parallel_replicate") * size("context_parallel") * size("tensor_parallel") * size("pipeline_parallel");
  if (!world_ || rest <= 0 || *world_ % rest != 0) return std::nullopt;
  return *world_ / rest;
}

bool TitanView::model_compiled() const {
  if (!is_true(get("compile", "enable"))) return false;
  const Node* components = get("compile", "components");
  if (components == nullptr) return true;
  const auto words = words_of(components);
  return std::find(words.begin(), words.end(), "model") != words.end();
}

const std::vector<TitanMoved>& titan_moved() {
  static const std::vector<TitanMoved> rows = {
      {"training.batch_size", "training.local_batch_size"},
      {"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
      {"training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree"},
      {"training.data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree"},
      {"training.tensor_parallel_degree", "parallelism.tensor_parallel_degree"},
      {"training.fsdp_reshard_after_forward", "parallelism.fsdp_reshard_after_forward"},
      {"training.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
      {"training.disable_loss_parallel", "parallelism.disable_loss_parallel"},
      {"training.compile", "compile.enable"},
      {"training.warmup_steps", "lr_scheduler.warmup_steps"},
      {"experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
      {"experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule"},
      {"experimental.pipeline_parallel_microbatches", "parallelism.pipeline_parallel_microbatch_size"},
      {"experimental.context_parallel_degree", "parallelism.context_parallel_degree"},
      {"experimental.context_parallel_rotate_method", "parallelism.context_parallel_rotate_method"},
      {"experimental.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
      {"experimental.enable_compiled_autograd", "parallelism.enable_compiled_autograd"},
      {"checkpoint.enable_checkpoint", "checkpoint.enable"},
      {"checkpoint.model_weights_only", "checkpoint.last_save_model_only"},
      {"float8", "quantize.linear.float8"},
      {"mx", "quantize.linear.mx"},
  };
  return rows;
}

}  // namespace fx::knowledge
