// What each format's file really describes.
#include <gtest/gtest.h>

#include "knowledge/formats/effective_testing.h"

namespace fx::knowledge {
namespace {

TEST(Effective, AccelerateFsdp1HybridKeepsItsShardsBetweenPasses) {
  expect_run(input_of(R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 2
num_processes: 16
fsdp_config:
  fsdp_sharding_strategy: HYBRID_SHARD_ZERO2
  fsdp_offload_params: true
  fsdp_auto_wrap_policy: SIZE_BASED_WRAP
)"),
             "accelerate-yaml",
             {{"world_size", "16"},
              {"nodes", "2"},
              {"processes_per_node", "8"},
              {"strategy", R"("hsdp")"},
              {"fsdp_version", "1"},
              {"reshard_after_forward", "false"},
              {"cpu_offload", "true"},
              {"precision", R"("bf16")"},
              {"reduce_precision", R"("bf16")"},
              {"state_dict", R"("full")"},
              {"wrap", R"("size")"},
              {"wrap_min_params", "100000000"}});
}

TEST(Effective, AccelerateFsdp2ReadsItsMeshAndDefaults) {
  expect_run(input_of(R"(distributed_type: FSDP
mixed_precision: 'no'
num_processes: 8
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
parallelism_config:
  parallelism_config_dp_replicate_size: 2
  parallelism_config_dp_shard_size: 4
)"),
             "accelerate-yaml",
             {{"strategy", R"("hsdp")"},
              {"fsdp_version", "2"},
              {"reshard_after_forward", "true"},
              {"mesh.dp_replicate", "2"},
              {"mesh.dp_shard", "4"},
              {"mesh.tp", ""},
              {"precision", R"("fp32")"},
              {"state_dict", R"("sharded")"},
              {"wrap", R"("default")"}});
}

TEST(Effective, TrainingArgumentsJsonFollowsItsTransformersVersion) {
  const std::string text = R"({"output_dir": "out", "per_device_train_batch_size": 1, "fsdp": true,
"fsdp_config": {"reshard_after_forward": false, "activation_checkpointing": true}, "max_steps": 100})";
  Context newest;
  newest.versions["transformers"] = "5.12.0";
  expect_run(input_of(text, newest), "hf-training-args-json",
             {{"strategy", R"("fsdp2")"},
              {"fsdp_version", "2"},
              {"reshard_after_forward", "false"},
              {"activation_checkpointing", R"("full")"},
              {"steps", "100"},
              {"epochs", ""},
              {"precision", R"("fp32")"}});
  Context old;
  old.versions["transformers"] = "4.57.1";
  expect_run(input_of(text, old), "hf-training-args-json", {{"fsdp_version", "1"}, {"strategy", R"("fsdp1")"}});
}

TEST(Effective, FsdpConfigJsonAloneSaysNothingAboutTraining) {
  expect_run(input_of(R"({"version": 2, "cpu_offload": true, "state_dict_type": "SHARDED_STATE_DICT"})"),
             "hf-fsdp-config-json",
             {{"strategy", R"("fsdp2")"},
              {"cpu_offload", "true"},
              {"state_dict", R"("sharded")"},
              {"learning_rate", ""},
              {"micro_batch", ""}});
}

TEST(Effective, AxolotlReadsShardingMeshAndTraining) {
  expect_run(input_of(R"(base_model: some/model
datasets:
  - path: some/data
    type: alpaca
sequence_len: 4096
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 2
optimizer: adamw_torch_fused
learning_rate: 2e-5
bf16: auto
fsdp_version: 2
fsdp_config:
  reshard_after_forward: false
  state_dict_type: FULL_STATE_DICT
  auto_wrap_policy: TRANSFORMER_BASED_WRAP
  transformer_layer_cls_to_wrap: LlamaDecoderLayer
dp_shard_size: 4
context_parallel_size: 2
)",
                      cluster(8, 1)),
             "axolotl-yaml",
             {{"world_size", "8"},
              {"strategy", R"("fsdp2")"},
              {"reshard_after_forward", "false"},
              {"mesh.dp_shard", "4"},
              {"mesh.cp", "2"},
              {"state_dict", R"("full")"},
              {"wrap", R"("LlamaDecoderLayer")"},
              {"precision", R"("bf16")"},
              {"model", R"("some/model")"},
              {"data", R"("some/data")"},
              {"packing", "true"},
              {"optimizer", R"("adamw-fused")"},
              {"schedule", R"("cosine")"},
              {"global_batch", "32"},
              {"seq_len", "4096"}});
}

TEST(Effective, TorchtitanTomlFillsTheShardsOfTheCluster) {
  expect_run(input_of(R"([model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
global_batch_size = 64
steps = 1000
[parallelism]
data_parallel_replicate_degree = 2
tensor_parallel_degree = 2
fsdp_reshard_after_forward = "never"
[activation_checkpoint]
mode = "full"
[checkpoint]
enable = true
interval = 250
)",
                      cluster(8, 2)),
             "torchtitan-toml",
             {{"strategy", R"("hsdp")"},
              {"mesh.dp_replicate", "2"},
              {"mesh.dp_shard", "4"},
              {"mesh.tp", "2"},
              {"reshard_after_forward", "false"},
              {"activation_checkpointing", R"("full")"},
              {"precision", R"("bf16")"},
              {"reduce_precision", R"("fp32")"},
              {"grad_accum", "8"},
              {"seq_len", "2048"},
              {"save_every", "250"},
              {"warmup_steps", "200"}});
}

TEST(Effective, TorchtuneReadsNestedComponents) {
  expect_run(input_of(R"(output_dir: out
model:
  _component_: torchtune.models.llama3.llama3_8b
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: 1024
optimizer:
  _component_: torch.optim.AdamW
  fused: true
  lr: 2e-5
dtype: bf16
batch_size: 2
gradient_accumulation_steps: 1
enable_activation_checkpointing: true
data_parallel_replicate_dim: 2
)",
                      cluster(8, 1)),
             "torchtune-yaml",
             {{"strategy", R"("hsdp")"},
              {"mesh.dp_replicate", "2"},
              {"precision", R"("bf16")"},
              {"activation_checkpointing", R"("full")"},
              {"optimizer", R"("adamw-fused")"},
              {"learning_rate", "2e-05"},
              {"global_batch", "16"},
              {"seq_len", "1024"}});
}

TEST(Effective, DeepspeedStageAndOffloadInOneVocabulary) {
  expect_run(input_of(R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
"bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": "auto",
"gradient_clipping": 0.5})"),
             "deepspeed-json",
             {{"strategy", R"("zero2")"},
              {"reshard_after_forward", "false"},
              {"cpu_offload", "true"},
              {"precision", R"("bf16")"},
              {"micro_batch", "4"},
              {"grad_accum", ""},
              {"max_grad_norm", "0.5"}});
  expect_run(input_of(R"({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}})"), "deepspeed-json",
             {{"strategy", R"("zero3")"}, {"reshard_group", "8"}, {"cpu_offload", "false"}});
}

TEST(Effective, LlamaFactoryV0IsTrainingArgumentsAndMore) {
  expect_run(input_of(R"(model_name_or_path: some/model
stage: sft
do_train: true
finetuning_type: full
dataset: alpaca_en
template: llama3
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
fsdp: full_shard auto_wrap
)",
                      cluster(8, 1)),
             "llamafactory-yaml",
             {{"strategy", R"("fsdp")"},
              {"precision", R"("bf16")"},
              {"seq_len", "2048"},
              {"data", R"("alpaca_en")"},
              {"activation_checkpointing", R"("full")"},
              {"global_batch", "64"}});
}

TEST(Effective, LlamaFactoryV1ReadsItsPlugins) {
  expect_run(input_of(R"(model: some/model
model_class: llm
train_dataset: data/v1.yaml
output_dir: out
micro_batch_size: 2
global_batch_size: 32
cutoff_len: 2048
learning_rate: 1.0e-4
bf16: true
max_steps: 500
batching_strategy: padding_free
dist_config:
  name: fsdp2
  reshard_after_forward: false
  offload_params: true
cp_mode: ulysses
cp_size: 2
mp_replicate_size: 2
mp_shard_size: 4
)",
                      cluster(8, 1)),
             "llamafactory-yaml",
             {{"strategy", R"("hsdp")"},
              {"fsdp_version", "2"},
              {"reshard_after_forward", "false"},
              {"cpu_offload", "true"},
              {"mesh.dp_replicate", "2"},
              {"mesh.dp_shard", "4"},
              {"mesh.cp", "2"},
              {"steps", "500"},
              {"packing", "true"},
              {"grad_accum", "4"},
              {"model", R"("some/model")"}});
}

TEST(Effective, LlamaFactoryV1ReadsItsAdapter) {
  const std::string head =
      "model: some/model\nmodel_class: llm\ntrain_dataset: data/v1.yaml\noutput_dir: out\n"
      "dist_config:\n  name: fsdp2\npeft_config:\n  name: lora\n";
  expect_run(input_of(head), "llamafactory-yaml",
             {{"lora.kind", R"("lora")"},
              {"lora.rank", "8"},
              {"lora.alpha", "16.0"},
              {"lora.dropout", "0.05"},
              {"lora.targets", R"("all-linear")"}});
  expect_run(input_of(head + "  r: 16\n  lora_alpha: 8\n  lora_dropout: 0\n  target_modules: [q_proj, v_proj]\n"
                             "quant_config:\n  name: bnb\n  quantization_bit: 4\n"),
             "llamafactory-yaml",
             {{"lora.kind", R"("qlora")"},
              {"lora.rank", "16"},
              {"lora.alpha", "8.0"},
              {"lora.dropout", "0.0"},
              {"lora.targets", R"("q_proj,v_proj")"}});
}

TEST(Effective, RunSpecFillsTheDefaultsOfItsParser) {
  expect_run(input_of(R"({"model": "m", "data": {"path": "d.jsonl", "max_seq_len": 512}, "output": "o", "ranks": 4,
"epochs": 2, "max_tokens_per_rank": 1024, "global_batch_size": 32,
"fsdp": {"reshard_after_forward": 2, "activation_checkpointing": "full"}})"),
             "fsdp-expert-run-spec",
             {{"world_size", "4"},
              {"strategy", R"("fsdp2")"},
              {"mesh.dp_shard", "4"},
              {"reshard_after_forward", "true"},
              {"reshard_group", "2"},
              {"precision", R"("bf16")"},
              {"reduce_precision", R"("fp32")"},
              {"micro_batch", "2"},
              {"grad_accum", "4"},
              {"seq_len", "512"},
              {"learning_rate", "2e-05"},
              {"schedule", R"("cosine")"},
              {"epochs", "2.0"}});
}

TEST(Effective, BrokenOrForeignTextDescribesNoRun) {
  for (const char* text :
       {"distributed_type: [FSDP", "hello", R"({"model": "m", "data": {}, "output": 3, "ranks": 0})"})
    EXPECT_TRUE(flat_fields(effective_run(input_of(text)).run).empty()) << text;
}

}  // namespace
}  // namespace fx::knowledge
