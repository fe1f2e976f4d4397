#include "knowledge/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "spec/run_spec.h"

namespace fx::knowledge::plan {
namespace {

const char* const kLlama8 = R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
  "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256})";
const char* const kMistral =
    R"({"model_type":"mistral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
  "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":32000})";
const char* const kSmol = R"({"model_type":"llama","hidden_size":576,"num_hidden_layers":30,"num_attention_heads":9,
  "num_key_value_heads":3,"intermediate_size":1536,"vocab_size":49152,"tie_word_embeddings":true})";

Json arguments(const char* model, const char* hardware, const char* training) {
  Json json;
  json["model"] = *parse_json(model);
  json["hardware"] = *parse_json(hardware);
  json["training"] = *parse_json(training);
  return json;
}

Result<Plan> try_plan(const Json& json) {
  const auto args = plan_fields().parse(json);
  if (!args) return args.error();
  return make_plan(*args);
}

Plan plan_of(const char* model, const char* hardware, const char* training) {
  auto plan = try_plan(arguments(model, hardware, training));
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  return plan ? *std::move(plan) : Plan{};
}

double share(const Plan& plan, const char* component) {
  for (const auto& [name, bytes] : plan.chosen.memory.components) {
    if (name == component) return bytes;
  }
  return -1;
}

TEST(Memory, TheOptimizerStepOfPureBf16IsTenBytesAParameterWhateverTheBatch) {
  const char* gpu = R"({"gpu":"A100-80GB-SXM"})";
  const auto plan = [&](const char* batch) {
    return plan_of(kMistral, gpu,
                   (std::string(R"({"method":"full","seq_len":4096,"micro_batch":)") + batch +
                    R"(,"param_dtype":"bf16","master_dtype":"bf16","sharding":"none","activation_checkpointing":"full",
                    "optimizer":"adamw","loss_impl":"standard","cpu_offload":false})")
                       .c_str());
  };
  const Plan four = plan("4"), eight = plan("8");
  EXPECT_EQ(four.chosen.memory.peak_moment, "optimizer_step");
  EXPECT_NEAR(four.chosen.memory.allocated / (10 * four.count.total), 1, 0.01);
  EXPECT_EQ(four.chosen.memory.allocated, eight.chosen.memory.allocated);
}

TEST(Memory, ComponentsAddUpToThePeakMoment) {
  const Plan plan =
      plan_of(kLlama8, R"({"gpu":"H100","gpus_per_node":8})", R"({"method":"full","seq_len":8192,"micro_batch":1})");
  double sum = 0, largest = 0;
  for (const auto& [name, bytes] : plan.chosen.memory.components) sum += bytes;
  for (const auto& moment : plan.chosen.memory.moments) largest = std::max(largest, moment.bytes);
  EXPECT_NEAR(sum, plan.chosen.memory.allocated, 1);
  EXPECT_EQ(largest, plan.chosen.memory.allocated);
  EXPECT_LE(plan.chosen.memory.low, plan.chosen.memory.allocated);
  EXPECT_LE(plan.chosen.memory.allocated, plan.chosen.memory.reserved);
  EXPECT_LE(plan.chosen.memory.reserved, plan.chosen.memory.nvidia_smi);
  EXPECT_LE(plan.chosen.memory.nvidia_smi, plan.chosen.memory.high);
}

TEST(Memory, ShardingDividesStates) {
  const char* training =
      R"({"method":"full","seq_len":2048,"micro_batch":1,"sharding":"fsdp2","activation_checkpointing":"full",
    "cpu_offload":false,"param_dtype":"bf16","master_dtype":"fp32","reduce_dtype":"fp32"})";
  const Plan two = plan_of(kLlama8, R"({"gpu":"H200","gpus_per_node":2})", training);
  const Plan eight = plan_of(kLlama8, R"({"gpu":"H200","gpus_per_node":8})", training);
  EXPECT_NEAR(share(two, "optimizer") / share(eight, "optimizer"), 4, 1e-9);
  EXPECT_NEAR(share(eight, "weights"), 4 * eight.count.total / 8, 1);
}

TEST(Memory, QuantisedBaseAndCheckpointingLowerIt) {
  const char* gpu = R"({"gpu":"A100-80GB-SXM"})";
  const Plan lora =
      plan_of(kLlama8, gpu,
              R"({"method":"lora","lora_rank":16,"seq_len":2048,"micro_batch":1,"activation_checkpointing":"none"})");
  const Plan qlora =
      plan_of(kLlama8, gpu,
              R"({"method":"qlora","lora_rank":16,"seq_len":2048,"micro_batch":1,"activation_checkpointing":"none"})");
  const Plan full_ac =
      plan_of(kLlama8, gpu,
              R"({"method":"lora","lora_rank":16,"seq_len":2048,"micro_batch":1,"activation_checkpointing":"full"})");
  EXPECT_LT(qlora.chosen.memory.allocated, lora.chosen.memory.allocated - 4 * kGib);
  EXPECT_LT(full_ac.chosen.memory.allocated, lora.chosen.memory.allocated - 5 * kGib);
  EXPECT_LT(full_ac.chosen.speed.tokens_per_s, lora.chosen.speed.tokens_per_s);
}

TEST(Memory, QuantisedExpertsAreDividedLikeTheOthers) {
  const char* moe = R"({"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,
    "num_key_value_heads":4,"head_dim":128,"moe_intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,
    "vocab_size":151936})";
  const auto weights = [&](const char* ep) {
    return share(
        plan_of(moe, R"({"gpu":"H100","gpus_per_node":8})",
                (std::string(R"({"method":"qlora","sharding":"fsdp2","micro_batch":1,"ep":)") + ep + "}").c_str()),
        "weights");
  };
  // Sharded over 8 ranks, or given to one of 8 ranks each: the same bytes a rank.
  EXPECT_NEAR(weights("8") / weights("1"), 1, 0.01);
}

// A run on one GPU; `more` are further fields of the training section.
Plan on_one(const char* model, const std::string& more) {
  return plan_of(
      model, R"({"gpu":"H100"})",
      (R"({"seq_len":1024,"micro_batch":1,"lora_targets":["q","v"],"param_dtype":"bf16","sharding":"none",)" + more +
       "}")
          .c_str());
}

TEST(Memory, ProductsOfAFourBitBaseKeepTheirInputs) {
  const std::string rest = R"("activation_checkpointing":"none","loss_impl":)";
  const auto kept = [&](const char* method, const char* loss) {
    return share(on_one(kMistral, std::string(R"("method":")") + method + "\"," + rest + loss), "activations");
  };
  const double inputs = 2.0 * (2 * 4096 + 14336) * 32 * 1024;
  EXPECT_NEAR((kept("qlora", R"("standard")") - kept("lora", R"("standard")")) / inputs, 1, 1e-6);
  // A loop of its own holds the last loss, and its graph, during the next forward.
  EXPECT_NEAR((kept("qlora", R"("chunked")") - kept("lora", R"("chunked")")) / inputs, 2, 1e-6);
}

TEST(Memory, PreparationOfAFourBitModelWidensWhatIsNotQuantised) {
  const auto weights = [](const char* more) {
    return share(on_one(kMistral, std::string(R"("method":"qlora","activation_checkpointing":"full",)") + more),
                 "weights");
  };
  const double norms = 65 * 4096, both_ends = 2.0 * 32000 * 4096;
  EXPECT_NEAR(weights(R"("loss_impl":"standard")") - weights(R"("loss_impl":"standard","amp":true)"),
              2 * (norms + both_ends), 1);
}

TEST(Memory, AutocastOverFp32ParametersKeepsThemWideAndComputesInBf16) {
  const auto plan = [](const char* dtypes) {
    return plan_of(
        kMistral, R"({"gpu":"A100-80GB-SXM","gpus_per_node":8})",
        (std::string(R"({"method":"lora","seq_len":2048,"micro_batch":1,"sharding":"fsdp1",)") + dtypes + "}").c_str());
  };
  const Plan wide = plan(R"("param_dtype":"fp32","amp":true)"), narrow = plan(R"("param_dtype":"bf16")");
  EXPECT_NEAR(share(wide, "weights") / share(narrow, "weights"), 2, 0.02);
  EXPECT_EQ(wide.chosen.speed.gemm_s, narrow.chosen.speed.gemm_s);
}

TEST(Memory, AutocastBesideZeroOneKeepsFp32WeightsAndGradients) {
  const auto weights = [](const char* more) {
    const Plan plan = plan_of(kMistral, R"({"gpu":"H200","gpus_per_node":8})",
                              (std::string(R"({"method":"full","seq_len":512,"micro_batch":1,"sharding":"zero1",
                                "param_dtype":"fp16","master_dtype":"fp32")") +
                               more + "}")
                                  .c_str());
    return share(plan, "weights") / plan.count.total;
  };
  EXPECT_NEAR(weights(R"(,"amp":true)"), 4, 1e-6);
  EXPECT_NEAR(weights(""), 2, 1e-6);
}

TEST(Memory, WithoutSequenceParallelismEachRankKeepsWholeInputs) {
  const Plan plan = plan_of(kMistral, R"({"gpu":"H100","gpus_per_node":8})",
                            R"({"method":"full","seq_len":4096,"micro_batch":1,"sharding":"fsdp2","tp":4})");
  Setting whole = plan.chosen.setting;
  whole.sequence_parallel = false;
  EXPECT_EQ(layer_activations(plan.shape, whole).input, 4 * layer_activations(plan.shape, plan.chosen.setting).input);
}

TEST(Memory, ThePipelinesFirstRankHasMoreMicroBatchesAndItsLastTheLogits) {
  const auto moment = [](const char* pp, std::size_t index) {
    return plan_of(kLlama8, R"({"gpu":"H100","gpus_per_node":8})",
                   (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"grad_accum":16,"sharding":"zero1",
                     "activation_checkpointing":"none","loss_impl":"standard","pp":)") +
                    pp + "}")
                       .c_str())
        .chosen.memory.moments[index]
        .bytes;
  };
  // Four times fewer layers, four times as many micro-batches: as much on the first rank; on the last a quarter.
  const double shrinks_first = moment("1", 1) - moment("4", 1), shrinks_last = moment("1", 0) - moment("4", 0);
  EXPECT_GT(shrinks_last, shrinks_first + 5 * kGib);
}

TEST(Plan, ThePipelinesLastRankIsSlowerByTheHeadUnlessItHasFewerLayers) {
  const auto bubble_free = [](const char* layers, const char* pp) {
    const std::string model = std::string(R"({"model_type":"llama","hidden_size":2048,"num_attention_heads":16,
      "intermediate_size":5632,"vocab_size":128256,"num_hidden_layers":)") +
                              layers + "}";
    const Plan plan = plan_of(
        model.c_str(), R"({"gpu":"H100","gpus_per_node":8})",
        (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"grad_accum":64,"sharding":"zero1","pp":)") +
         pp + "}")
            .c_str());
    return plan.chosen.speed.gemm_s;
  };
  EXPECT_GT(bubble_free("24", "4"), 1.2 * bubble_free("18", "4"));
}

bool mentions(const std::vector<std::string>& texts, const char* words) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(words) != std::string::npos; });
}

TEST(Plan, SaysWhatItsArgumentsLeaveOpen) {
  const auto limits = [](const char* accumulation) {
    return plan_of(kMistral, R"({"gpu":"H100","gpus_per_node":8})",
                   (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"sharding":"fsdp1","grad_accum":)") +
                    accumulation + "}")
                       .c_str())
        .limits;
  };
  EXPECT_TRUE(mentions(limits("4"), "no_sync"));
  EXPECT_FALSE(mentions(limits("1"), "no_sync"));
}

TEST(Plan, TheRangeOfTheSpeedHoldsItAndSpansKernelsAndThreadsThatMayDiffer) {
  const auto width = [](const Plan& plan) {
    EXPECT_LT(plan.speed_low, plan.chosen.speed.tokens_per_s);
    EXPECT_GT(plan.speed_high, plan.chosen.speed.tokens_per_s);
    return plan.speed_high / plan.speed_low;
  };
  const char* experts = R"({"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,
    "num_key_value_heads":4,"head_dim":128,"moe_intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,
    "vocab_size":151936})";
  const char* training = R"({"method":"full","seq_len":4096,"micro_batch":1,"sharding":"fsdp2"})";
  const char* machine = R"({"gpu":"H100","gpus_per_node":8})";
  EXPECT_GT(width(plan_of(experts, machine, training)), 1.5 * width(plan_of(kLlama8, machine, training)));
  const auto ranks = [&](const char* hardware) {
    return width(plan_of(kSmol, hardware, R"({"method":"full","seq_len":512})"));
  };
  EXPECT_GT(ranks(R"({"gpu":"cpu","cpu_cores":2})"), ranks(R"({"gpu":"cpu","cpu_cores":2,"gpus_per_node":2})"));
}

TEST(Plan, SaysWhereItDoesNotMeetWhatWasAsked) {
  const auto says = [](const char* hardware, const char* training, const char* words) {
    const Plan plan = plan_of(kLlama8, hardware, training);
    return std::ranges::any_of(plan.assumptions, [&](const auto& a) { return a.find(words) != std::string::npos; });
  };
  const char* machine = R"({"gpu":"H100","gpus_per_node":8})";
  EXPECT_TRUE(says(machine, R"({"micro_batch":2,"global_batch_size":30})", "32 sequences a step instead of 30"));
  EXPECT_FALSE(says(machine, R"({"micro_batch":2,"global_batch_size":32})", "instead of"));
  EXPECT_TRUE(says(R"({"gpu":"H100","gpus_per_node":16})", "{}", "16 GPUs in one machine"));
  EXPECT_FALSE(says(R"({"gpu":"GB200","gpus_per_node":16})", "{}", "in one machine"));
}

// Our own engine, SmolLM2-135M, two ranks on one host.
Plan engine_plan(const std::string& seq_len, const std::string& more) {
  return plan_of(kSmol, R"({"gpu":"CPU","cpu_cores":2,"host_memory_gib":24,"gpus_per_node":2})",
                 (R"({"method":"full","micro_batch":1,"param_dtype":"bf16","reduce_dtype":"fp32","seq_len":)" +
                  seq_len + R"(,"activation_checkpointing":)" + more + "}")
                     .c_str());
}

TEST(Plan, OurOwnEngineNeedsWhatItWasMeasuredToNeed) {
  // Resident bytes of the larger rank.
  const auto expect = [](double bytes, const char* seq_len, const char* more) {
    EXPECT_NEAR(engine_plan(seq_len, more).chosen.memory.allocated / bytes, 1, 0.07) << seq_len << more;
  };
  expect(1.43e9, "512", R"("none","sharding":"fsdp2")");
  expect(1.67e9, "1024", R"("none","sharding":"fsdp2")");
  expect(1.46e9, "1024", R"("selective-layer","sharding":"fsdp2")");
  expect(1.36e9, "1024", R"("full","sharding":"fsdp2")");
  expect(2.46e9, "512", R"("none","sharding":"hsdp","shard_size":1)");
  expect(1.63e9, "512", R"("none","sharding":"fsdp2","reshard_after_forward":false)");
  expect(1.70e9, "512", R"("none","sharding":"fsdp2","grad_accum":2)");
}

TEST(Plan, AttentionInsideShortDocumentsCostsLess) {
  Json json = arguments(kLlama8, R"({"gpu":"H100"})", R"({"method":"lora","seq_len":32768,"micro_batch":1})");
  const auto seconds = [&] { return try_plan(json)->chosen.speed.attention_s; };
  const double whole = seconds();
  json["data"] = {{"document_tokens", 4096}};
  EXPECT_NEAR(seconds() / whole, 1.0 / 8, 1e-9);
}

TEST(Plan, ACpusOwnMeasuredRateReplacesTheTable) {
  const auto speed = [](const char* hardware) {
    return plan_of(kSmol, hardware, R"({"method":"full","seq_len":1024,"micro_batch":1})").chosen.speed.tokens_per_s;
  };
  const double slow = speed(R"({"gpu":"cpu","gpus_per_node":2,"cpu_cores":2,"gpu_tflops":0.05})");
  const double fast = speed(R"({"gpu":"cpu","gpus_per_node":2,"cpu_cores":2,"gpu_tflops":0.2})");
  EXPECT_GT(fast, 2 * slow);
}

TEST(Plan, SaysWhenFsdpIsTheWrongTool) {
  const Plan small =
      plan_of(kSmol, R"({"gpu":"H100","gpus_per_node":8})", R"({"method":"full","seq_len":2048,"sharding":"fsdp2"})");
  EXPECT_EQ(small.strategy, "ddp");
  EXPECT_EQ(plan_of(kSmol, R"({"gpu":"H100"})", R"({"method":"lora"})").strategy, "single-gpu");
  const Plan none = plan_of(kLlama8, R"({"gpu":"H100","gpus_per_node":8})", R"({"method":"none"})");
  EXPECT_FALSE(none.applicable);
  EXPECT_EQ(none.strategy, "none");
  EXPECT_EQ(plan_of(kLlama8, R"({"gpu":"H100","gpus_per_node":8})", R"({"method":"full","seq_len":8192})").strategy,
            "fsdp");
}

TEST(Plan, ChoosesWhatIsMissingSoThatItFits) {
  for (const char* gpu : {"H100", "A100-40GB", "RTX 4090"}) {
    const Plan plan = plan_of(kLlama8, (std::string(R"({"gpu":")") + gpu + R"(","gpus_per_node":8})").c_str(),
                              R"({"method":"full","seq_len":4096})");
    EXPECT_TRUE(plan.chosen.memory.fits) << gpu;
    EXPECT_FALSE(plan.steps.empty());
    EXPECT_FALSE(plan.recommendations.empty());
  }
}

TEST(Plan, AHopelessPlanSaysSo) {
  const Plan plan = plan_of(R"({"params_b":405})", R"({"gpu":"RTX 4090"})", R"({"method":"full"})");
  EXPECT_FALSE(plan.chosen.memory.fits);
}

TEST(Plan, RunSpecFileIsAValidSpec) {
  Json json =
      arguments(kSmol, R"({"gpu":"cpu","gpus_per_node":2})", R"({"method":"full","seq_len":1024,"micro_batch":1})");
  json["files"] = {"run_spec", "accelerate", "torchtitan", "torchrun", "sbatch"};
  const auto plan = try_plan(json);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->files.size(), 5U);
  const auto spec = parse_run_spec_text(plan->files[0].second);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_TRUE(spec->warnings.empty());
  EXPECT_EQ(spec->spec.fsdp.shard, 2);
}

TEST(Plan, RunSpecFileOfAdaptersAsksForThem) {
  Json json = arguments(kSmol, R"({"gpu":"cpu","gpus_per_node":2})",
                        R"({"method":"lora","lora_rank":8,"lora_targets":["all-linear"],"seq_len":1024})");
  json["files"] = {"run_spec"};
  const auto plan = try_plan(json);
  ASSERT_TRUE(plan);
  const auto spec = parse_run_spec_text(plan->files.at(0).second);
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_TRUE(spec->spec.lora);
  EXPECT_EQ(spec->spec.lora->rank, 8);
  json["training"]["method"] = "qlora";
  EXPECT_TRUE(try_plan(json)->files.empty());
}

TEST(Plan, AdaptersNeedLittleMemoryOnTheEngine) {
  const auto memory = [](const char* training) {
    return plan_of(kSmol, R"({"gpu":"cpu","gpus_per_node":2,"cpu_cores":2})", training).chosen.memory.allocated;
  };
  const double full = memory(R"({"method":"full","seq_len":512,"micro_batch":1})");
  const double lora = memory(R"({"method":"lora","lora_rank":8,"seq_len":512,"micro_batch":1})");
  // Of 135 million parameters on two ranks 14 bytes each are not needed; activations and the program are.
  EXPECT_LT(lora, 0.6 * full);
}

std::vector<std::string> mistakes(const Json& json) {
  std::vector<std::string> fields;
  const auto plan = try_plan(json);
  if (plan) return fields;
  for (const auto& e : plan.error().details) fields.push_back(e.field);
  if (fields.empty()) fields.push_back(plan.error().field);
  return fields;
}

TEST(Plan, NonsenseIsAnErrorAtItsField) {
  using V = std::vector<std::string>;
  EXPECT_EQ(mistakes(Json::object()), (V{"model", "hardware"}));
  EXPECT_EQ(mistakes(arguments(kLlama8, R"({"gpu":"TPU"})", "{}")), V{"hardware.gpu"});
  EXPECT_EQ(mistakes(arguments(R"({"hidden_size":-1,"num_hidden_layers":1e30,"num_attention_heads":0})",
                               R"({"gpu":"H100"})", "{}")),
            (V{"model.hidden_size", "model.num_hidden_layers", "model.num_attention_heads"}));
  EXPECT_EQ(mistakes(arguments(kLlama8, R"({"gpu":"H100","gpus_per_node":8})", R"({"tp":3})")),
            V({"training.tp", "training.tp"}));
  EXPECT_EQ(mistakes(arguments(kLlama8, R"({"gpu":"H100"})", R"({"ep":4,"method":"full","base_quant":"nf4"})")),
            (V{"training.ep", "training.base_quant"}));
  EXPECT_EQ(mistakes(arguments(kLlama8, R"({"gpu":"H100"})", R"({"optimizer":"adamv","seq_len":1.5})")),
            (V{"training.optimizer", "training.seq_len"}));
}

TEST(Plan, UnknownGpuWorksWithItsOwnNumbers) {
  const Plan plan = plan_of(kLlama8, R"({"gpu":"Foo 9000","gpus_per_node":8,"gpu_memory_gib":64,"gpu_tflops":400})",
                            R"({"method":"lora"})");
  EXPECT_EQ(plan.machine.gpu.memory_gib, 64);
  EXPECT_TRUE(plan.chosen.memory.fits);
}

TEST(Plan, UnknownExtraArgumentsAreIgnored) {
  Json json = arguments(kLlama8, R"({"gpu":"H100","rack":7})", R"({"method":"lora","toolCallId":"x"})");
  json["sessionId"] = 1;
  EXPECT_TRUE(try_plan(json));
}

}  // namespace
}  // namespace fx::knowledge::plan
