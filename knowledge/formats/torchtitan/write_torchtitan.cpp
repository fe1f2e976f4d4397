// A torchtitan TOML (to 0.2.x).
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/formats/run_writer.h"

namespace fx::knowledge {
namespace {

template <class T>
void put(Json& out, const char* key, const std::optional<T>& value) {
  if (value) out[key] = *value;
}

struct TitanModel {
  std::string name, flavor;
};

// "Llama-3.1-8B-Instruct" -> {"llama3", "8B"}: the family by its word, the flavour by the size in the name.
TitanModel titan_model(const std::string& model) {
  TitanModel out;
  const std::string low = to_lower(model);
  static constexpr std::pair<std::string_view, std::string_view> families[] = {
      {"llama-4", "llama4"}, {"llama4", "llama4"},        {"llama", "llama3"},
      {"qwen3", "qwen3"},    {"deepseek", "deepseek_v3"}, {"gpt-oss", "gpt_oss"}};
  for (const auto& [word, name] : families) {
    if (out.name.empty() && contains(low, word)) out.name = name;
  }
  for (std::size_t i = 1; i < low.size(); ++i) {
    const bool ends = i + 1 == low.size() || std::isalnum(static_cast<unsigned char>(low[i + 1])) == 0;
    if (low[i] != 'b' || !ends || std::isdigit(static_cast<unsigned char>(low[i - 1])) == 0) continue;
    std::size_t begin = i;
    while (begin > 0 && (std::isdigit(static_cast<unsigned char>(low[begin - 1])) != 0 || low[begin - 1] == '.'))
      --begin;
    out.flavor = low.substr(begin, i - begin) + "B";
  }
  return out;
}

void add_model(const Effective& run, WriteNotes& notes, Json& out) {
  const TitanModel model = titan_model(run.model.value_or(""));
  Json section = Json::object();
  const std::string why = "torchtitan builds the model from its own name and flavor: check both";
  if (!model.name.empty()) section["name"] = model.name;
  if (!model.flavor.empty()) section["flavor"] = model.flavor;
  notes.placeholder("model.name", model.name, why);
  notes.placeholder("model.flavor", model.flavor, why);
  if (run.model) {
    section["hf_assets_path"] = *run.model;
    notes.placeholder("model.hf_assets_path", *run.model, "must be a local folder: download the model first");
  }
  out["model"] = std::move(section);
}

void add_optimizer(const Effective& run, Json& out) {
  Json optimizer = {{"name", run.optimizer == "adam" ? "Adam" : "AdamW"}};
  if (run.optimizer) optimizer["implementation"] = *run.optimizer == "adamw-fused" ? "fused" : "foreach";
  put(optimizer, "lr", run.learning_rate);
  put(optimizer, "beta1", run.adam_beta1);
  put(optimizer, "beta2", run.adam_beta2);
  put(optimizer, "eps", run.adam_epsilon);
  put(optimizer, "weight_decay", run.weight_decay);
  out["optimizer"] = std::move(optimizer);
  Json schedule = {{"warmup_steps", run.warmup_steps.value_or(0)}};
  if (run.schedule == "constant") {
    schedule["decay_ratio"] = 0.0;
  } else {
    put(schedule, "decay_type", run.schedule);
  }
  out["lr_scheduler"] = std::move(schedule);
}

void add_training(const Effective& run, Json& out) {
  Json training = Json::object();
  put(training, "local_batch_size", run.micro_batch);
  if (run.grad_accum != 1) put(training, "global_batch_size", run.global_batch);
  put(training, "seq_len", run.seq_len);
  put(training, "steps", run.steps);
  put(training, "max_norm", run.max_grad_norm);
  training["enable_cpu_offload"] = run.cpu_offload.value_or(false);
  training["mixed_precision_param"] = run.precision == "fp32" ? "float32" : "bfloat16";
  training["mixed_precision_reduce"] = "float32";
  out["training"] = std::move(training);
}

// -1, "the ranks that are left", wherever that gives the same shards: then the file also fits another cluster.
long long shard_degree(const Effective& run) {
  const EffectiveMesh& mesh = run.mesh;
  if (!is_sharded(run)) return 1;
  const long long other =
      mesh.dp_replicate.value_or(1) * mesh.tp.value_or(1) * mesh.cp.value_or(1) * mesh.pp.value_or(1);
  const bool rest = !mesh.dp_shard || (run.world_size && *mesh.dp_shard * other == *run.world_size);
  return rest ? -1 : *mesh.dp_shard;
}

void add_parallelism(const Effective& run, Json& out) {
  const EffectiveMesh& mesh = run.mesh;
  Json section = {{"data_parallel_replicate_degree", mesh.dp_replicate.value_or(1)},
                  {"data_parallel_shard_degree", shard_degree(run)}};
  section["fsdp_reshard_after_forward"] = run.reshard_after_forward.value_or(true) ? "always" : "never";
  section["tensor_parallel_degree"] = mesh.tp.value_or(1);
  section["context_parallel_degree"] = mesh.cp.value_or(1);
  section["pipeline_parallel_degree"] = mesh.pp.value_or(1);
  if (mesh.ep) section["expert_parallel_degree"] = *mesh.ep;
  out["parallelism"] = std::move(section);
}

}  // namespace

Json write_torchtitan(const Effective& run, WriteNotes& notes) {
  Json out = Json::object();
  out["job"] = {{"dump_folder", run.output.value_or("./outputs")}};
  add_model(run, notes, out);
  add_optimizer(run, out);
  add_training(run, out);
  add_parallelism(run, out);
  out["activation_checkpoint"] = {{"mode", run.activation_checkpointing.value_or("none")}};
  out["compile"] = {{"enable", run.compile.value_or(false)}};
  Json checkpoint = {{"enable", run.save_every.has_value()}};
  put(checkpoint, "interval", run.save_every);
  if (run.save_every) put(checkpoint, "keep_latest_k", run.save_keep);
  if (run.model) checkpoint["initial_load_in_hf"] = true;
  out["checkpoint"] = std::move(checkpoint);
  if (run.seed) out["debug"] = {{"seed", *run.seed}};
  return out;
}

}  // namespace fx::knowledge
