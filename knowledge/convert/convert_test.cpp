#include "knowledge/convert/convert.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace fx::knowledge {
namespace {

Conversion converted(const Input& source, std::string_view to, std::optional<int> version = {}) {
  FitOptions options;
  options.fsdp_version = version;
  auto result = convert_run(source, *find_target(to), options);
  EXPECT_TRUE(result) << (result ? "" : to_line(result.error()));
  return result ? std::move(result.value()) : Conversion{};
}

Context cluster(long long gpus, long long nodes) {
  Context context;
  context.gpus = gpus;
  context.nodes = nodes;
  return context;
}

const Dropped* dropped(const Conversion& conversion, std::string_view key) {
  for (const Dropped& one : conversion.dropped) {
    if (one.key == key) return &one;
  }
  return nullptr;
}

std::string assumed_reason(const Conversion& conversion, std::string_view key) {
  for (const Assumed& one : conversion.assumed) {
    if (one.key == key) return one.reason;
  }
  return "";
}

Input input_of(std::string_view text, Context context = {}) {
  return read_input(text, "", std::move(context));
}

constexpr std::string_view kFsdp1 = R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 2
num_processes: 16
main_process_ip: 10.0.0.1
main_process_port: 29500
fsdp_config:
  fsdp_sharding_strategy: HYBRID_SHARD
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_use_orig_params: true
)";

TEST(Convert, Fsdp1HybridBecomesAMeshOfFsdp2) {
  const Conversion c = converted(input_of(kFsdp1), "accelerate", 2);
  EXPECT_TRUE(contains(c.text, "fsdp_version: 2")) << c.text;
  EXPECT_TRUE(contains(c.text, "fsdp_reshard_after_forward: true"));
  EXPECT_TRUE(contains(c.text, "parallelism_config_dp_replicate_size: 2"));
  EXPECT_TRUE(contains(c.text, "parallelism_config_dp_shard_size: 8"));
  EXPECT_FALSE(contains(c.text, "sharding_strategy"));
  EXPECT_TRUE(contains(c.text, "main_process_ip: \"10.0.0.1\"")) << c.text;
  ASSERT_NE(dropped(c, "fsdp_config.fsdp_backward_prefetch"), nullptr);
  EXPECT_EQ(dropped(c, "fsdp_config.fsdp_backward_prefetch")->line, 10);
  EXPECT_NE(dropped(c, "fsdp_config.fsdp_use_orig_params"), nullptr);
  EXPECT_EQ(c.effective.strategy, "hsdp");
  EXPECT_EQ(c.effective.fsdp_version, 2);
}

TEST(Convert, Fsdp1StaysFsdp1UnlessAsked) {
  const Conversion c = converted(input_of(kFsdp1), "trainer");
  EXPECT_EQ(c.effective.fsdp_version, 1);
  EXPECT_TRUE(contains(c.text, "\"hybrid_shard auto_wrap\"")) << c.text;
}

TEST(Convert, ZeroStagesBecomeFsdp2) {
  const auto zero = [](int stage, const std::string& more) {
    return input_of("{\"zero_optimization\": {\"stage\": " + std::to_string(stage) + more +
                    "}, \"bf16\": {\"enabled\": true}, \"gradient_clipping\": 1.0}");
  };
  const Conversion three = converted(zero(3, ", \"overlap_comm\": true"), "accelerate");
  EXPECT_EQ(three.effective.strategy, "fsdp2");
  EXPECT_EQ(three.effective.reshard_after_forward, true);
  EXPECT_EQ(three.effective.precision, "bf16");
  ASSERT_NE(dropped(three, "zero_optimization.overlap_comm"), nullptr);
  ASSERT_NE(dropped(three, "gradient_clipping"), nullptr);
  EXPECT_EQ(dropped(three, "zero_optimization.stage"), nullptr);
  EXPECT_EQ(converted(zero(2, ""), "axolotl").effective.reshard_after_forward, false);
  const Conversion one = converted(zero(1, ""), "trainer");
  EXPECT_EQ(one.effective.strategy, "fsdp2");
  ASSERT_NE(dropped(one, "zero_optimization.stage"), nullptr);
  EXPECT_TRUE(contains(dropped(one, "zero_optimization.stage")->reason, "optimizer state alone"));
}

TEST(Convert, PartitionsOfZeroPlusPlusAreSlicesInTheRunSpecOnly) {
  const Input source = input_of(
      R"({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 4}, "bf16": {"enabled": true}})", cluster(8, 1));
  const Conversion spec = converted(source, "run-spec");
  EXPECT_EQ(spec.effective.reshard_group, 4) << spec.text;
  EXPECT_EQ(dropped(spec, "zero_optimization.zero_hpz_partition_size"), nullptr);
  EXPECT_NE(dropped(converted(source, "torchtitan"), "zero_optimization.zero_hpz_partition_size"), nullptr);
}

TEST(Convert, ABrokenSourceIsNotConverted) {
  const Conversion c = converted(input_of("distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
                                          "  fsdp_version: 2\n  fsdp_reshard_after_forward: FULL_SHARD\n"),
                                 "torchtitan");
  EXPECT_TRUE(c.applicable);
  EXPECT_FALSE(c.converted);
  EXPECT_EQ(c.text, "");
  ASSERT_EQ(c.findings.size(), 1U);
  EXPECT_EQ(c.findings[0].rule, "accelerate-fsdp2-reshard-not-bool");
}

TEST(Convert, WhatOnlyStartsRanksIsNotApplicable) {
  for (const char* text : {"torchrun --nproc_per_node 8 train.py\n", "export NCCL_DEBUG=WARN\nexport MASTER_ADDR=a\n",
                           "services:\n  web:\n    image: x\n"}) {
    const Conversion c = converted(input_of(text), "accelerate");
    EXPECT_FALSE(c.applicable) << text;
    EXPECT_FALSE(c.reason.empty());
  }
}

TEST(Convert, SecretsAreNeitherCopiedNorShown) {
  const std::string token = "hf_" + std::string("AbCdEfGhIjKlMnOpQrStUvWxYz01234567");
  const Conversion c = converted(input_of("base_model: some/model\nlearning_rate: 2e-5\nmicro_batch_size: 1\n"
                                          "datasets:\n  - path: some/data\n    type: alpaca\nsequence_len: 1024\n"
                                          "hub_token: " +
                                          token + "\n"),
                                 "axolotl");
  EXPECT_TRUE(c.converted) << c.reason;
  EXPECT_FALSE(contains(c.text, token.substr(3, 12)));
  ASSERT_NE(dropped(c, "hub_token"), nullptr);
  EXPECT_EQ(dropped(c, "hub_token")->value, "[secret]");
}

TEST(Convert, TheSameFamilyKeepsSettingsThatNoRunHas) {
  const Conversion c =
      converted(input_of(R"({"output_dir": "out", "per_device_train_batch_size": 1, "bf16": true, "logging_steps": 7,
"report_to": ["none"], "fsdp": "full_shard auto_wrap", "fsdp_config": {"backward_prefetch": "backward_pre"}})"),
                "trainer", 2);
  EXPECT_TRUE(contains(c.text, "\"logging_steps\": 7")) << c.text;
  EXPECT_TRUE(contains(c.text, "\"report_to\""));
  EXPECT_FALSE(contains(c.text, "backward_prefetch"));
  EXPECT_EQ(dropped(c, "logging_steps"), nullptr);
  EXPECT_NE(dropped(c, "fsdp_config.backward_prefetch"), nullptr);
}

TEST(Convert, AxesWithoutAHomeGoToTheShards) {
  const Conversion c = converted(input_of("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nsteps = 100\n"
                                          "seq_len = 4096\n[parallelism]\ntensor_parallel_degree = 2\n"
                                          "pipeline_parallel_degree = 2\n",
                                          cluster(8, 2)),
                                 "accelerate");
  EXPECT_EQ(c.effective.mesh.tp, 2) << c.text;
  EXPECT_EQ(c.effective.mesh.dp_shard, 8);
  ASSERT_NE(dropped(c, "parallelism.pipeline_parallel_degree"), nullptr);
}

TEST(Convert, HalfPrecisionBecomesBf16WhereItIsAllThereIs) {
  const Conversion c = converted(input_of("distributed_type: FSDP\nmixed_precision: fp16\nnum_processes: 4\n"
                                          "fsdp_config:\n  fsdp_version: 2\n"),
                                 "run-spec");
  EXPECT_EQ(c.effective.precision, "bf16");
  ASSERT_NE(dropped(c, "mixed_precision"), nullptr);
  EXPECT_TRUE(contains(assumed_reason(c, "fsdp.param_dtype"), "fp16"));
  EXPECT_FALSE(assumed_reason(c, "model").empty());
}

constexpr std::string_view kAdapters = R"({
  "model": "some/model",
  "data": {"path": "train.jsonl", "max_seq_len": 1024},
  "output": "out",
  "ranks": 4,
  "epochs": 1,
  "lora": {
    "rank": 8,
    "alpha": 24,
    "target_modules": ["q_proj", "v_proj"],
    "dropout": 0.05
  }
})";

TEST(Convert, AdaptersOfARunSpecAreAxolotlsAndComeBack) {
  const Conversion c = converted(input_of(kAdapters), "axolotl");
  for (const char* line : {"adapter: lora\n", "lora_r: 8\n", "lora_alpha: 24\n", "lora_dropout: 0.05\n",
                           "lora_target_modules:\n  - q_proj\n  - v_proj\n"}) {
    EXPECT_TRUE(contains(c.text, line)) << line << c.text;
  }
  for (const Dropped& one : c.dropped) EXPECT_FALSE(contains(one.key, "lora")) << one.key << ": " << one.reason;
  const Conversion back = converted(input_of(c.text, cluster(4, 1)), "run-spec");
  EXPECT_TRUE(back.effective.lora.kind == "lora" && back.effective.lora.rank == 8) << back.text;
  EXPECT_EQ(back.effective.lora.alpha, 24);
  EXPECT_EQ(back.effective.lora.dropout, 0.05);
  EXPECT_EQ(back.effective.lora.targets, "q_proj,v_proj");
}

TEST(Convert, AdaptersOnEveryProjectionHaveOneWordInEachFormat) {
  const Conversion c = converted(
      input_of(replace_all(std::string(kAdapters), R"(["q_proj", "v_proj"])", R"(["all-linear"])")), "axolotl");
  EXPECT_TRUE(contains(c.text, "lora_target_linear: true\n")) << c.text;
  EXPECT_FALSE(contains(c.text, "lora_target_modules"));
  EXPECT_EQ(converted(input_of(c.text, cluster(4, 1)), "run-spec").effective.lora.targets, "all-linear");
}

TEST(Convert, WhatHasNoAdaptersSaysSo) {
  for (const auto& [target, words] : {std::pair<const char*, const char*>{"accelerate", "belongs to the script"},
                                      {"trainer", "with PEFT"},
                                      {"torchtitan", "would train all weights"}}) {
    const Conversion c = converted(input_of(kAdapters), target);
    ASSERT_NE(dropped(c, "lora.rank"), nullptr) << target;
    EXPECT_EQ(dropped(c, "lora.rank")->line, 8);
    EXPECT_TRUE(contains(dropped(c, "lora.rank")->reason, words)) << dropped(c, "lora.rank")->reason;
    EXPECT_FALSE(c.effective.lora.kind);
  }
}

constexpr std::string_view kQlora = R"(base_model: some/model
datasets:
  - path: data.jsonl
    type: alpaca
learning_rate: 1e-4
micro_batch_size: 1
sequence_len: 1024
adapter: qlora
load_in_4bit: true
lora_r: 32
lora_alpha: 16
lora_target_modules:
  - q_proj
  - embed_tokens
)";

TEST(Convert, AQuantizedBaseBecomesAPlainOneInTheRunSpecAndIsNamed) {
  const Conversion c = converted(input_of(kQlora, cluster(2, 1)), "run-spec");
  EXPECT_EQ(c.effective.lora.kind, "lora") << c.text;
  ASSERT_NE(dropped(c, "adapter"), nullptr);
  EXPECT_TRUE(contains(dropped(c, "adapter")->reason, "no quantized base"));
  EXPECT_EQ(c.effective.lora.targets, "q_proj");
  ASSERT_NE(dropped(c, "lora_target_modules"), nullptr);
  EXPECT_NE(dropped(c, "load_in_4bit"), nullptr);
  EXPECT_EQ(dropped(converted(input_of(kQlora, cluster(2, 1)), "axolotl"), "adapter"), nullptr);
}

TEST(Convert, AdaptersOfOtherTrainersAreTheRunSpecsToo) {
  const Conversion factory = converted(input_of("model_name_or_path: some/model\nstage: sft\ndo_train: true\n"
                                                "dataset: mine\ntemplate: llama3\noutput_dir: out\n"
                                                "finetuning_type: lora\nlora_rank: 4\nlora_target: all\n",
                                                cluster(2, 1)),
                                       "run-spec");
  EXPECT_EQ(factory.effective.lora.rank, 4) << factory.text << factory.reason;
  EXPECT_EQ(factory.effective.lora.alpha, 8);
  EXPECT_EQ(factory.effective.lora.targets, "all-linear");
  const Conversion trl = converted(
      input_of("torchrun --nproc_per_node 2 sft.py --output_dir out --per_device_train_batch_size 1 --bf16 true "
               "--model_name_or_path some/model --use_peft --lora_r 4 --lora_target_modules q_proj k_proj\n"),
      "run-spec");
  EXPECT_EQ(trl.effective.lora.rank, 4) << trl.text << trl.reason;
  EXPECT_EQ(trl.effective.lora.dropout, 0.05);
  EXPECT_EQ(trl.effective.lora.targets, "q_proj,k_proj");
}

TEST(Convert, TorchtitanHasNoFsdp1) {
  FitOptions options;
  options.fsdp_version = 1;
  const auto result = convert_run(input_of(kFsdp1), *find_target("torchtitan"), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().field, "fsdp_version");
}

}  // namespace
}  // namespace fx::knowledge
