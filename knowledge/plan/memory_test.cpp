#include "knowledge/plan/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "knowledge/plan/plan_testing.h"

namespace fx::knowledge::plan {
namespace {

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
              R"({"method":"qlora","lora_rank":16,"seq_len":2048,"micro_batch":1,"activation_checkpointing":"full"})");
  const Plan full_ac =
      plan_of(kLlama8, gpu,
              R"({"method":"lora","lora_rank":16,"seq_len":2048,"micro_batch":1,"activation_checkpointing":"full"})");
  EXPECT_LT(qlora.chosen.memory.allocated, full_ac.chosen.memory.allocated - 4 * kGib);
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
  const std::string rest = R"("activation_checkpointing":"none","amp":true,"loss_impl":)";
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

TEST(Memory, AdaptersWithoutAutocastCopyTheirInputsInFp32) {
  const auto kept = [](const char* more) {
    return share(
        on_one(kMistral, std::string(R"("method":"lora","activation_checkpointing":"none","loss_impl":"standard",
                                                "master_dtype":"fp32")") +
                             more),
        "activations");
  };
  EXPECT_NEAR(kept("") - kept(R"(,"amp":true)"), 2.0 * 2 * 4096 * 32 * 1024, 1);
}

TEST(Memory, APreparedFourBitModelHandsOnFp32) {
  const auto input = [](const char* more) {
    const Plan plan = on_one(kMistral, std::string(R"("method":"qlora","activation_checkpointing":"full",)") + more);
    return layer_activations(plan.shape, plan.chosen.setting).input;
  };
  EXPECT_EQ(input(R"("loss_impl":"standard")"), 2 * input(R"("loss_impl":"standard","amp":true)"));
}

TEST(Memory, KeysAndValuesThatTheModelReturnsStayBesideCheckpoints) {
  const auto plan = [](const char* more) {
    return plan_of(
        kMistral, R"({"gpu":"H100","gpus_per_node":8})",
        (std::string(R"({"method":"full","seq_len":4096,"micro_batch":4,"sharding":"fsdp1",)") + more + "}").c_str());
  };
  const char* full = R"("activation_checkpointing":"full","loss_impl":"standard")";
  const double cache = 32 * 2 * 2 * 1024.0 * 4 * 4096;
  EXPECT_NEAR(share(plan((std::string(full) + R"(,"use_cache":true)").c_str()), "activations") -
                  share(plan(full), "activations"),
              cache, 1);
  EXPECT_EQ(share(plan(R"("activation_checkpointing":"none","use_cache":true)"), "activations"),
            share(plan(R"("activation_checkpointing":"none")"), "activations"));
}

TEST(Memory, APipelinesFullestRankHasLayersInPlaceOfTheHead) {
  const auto layers = [](const char* more) {
    const Plan plan =
        plan_of(R"({"model_type":"llama","hidden_size":2048,"num_attention_heads":16,"intermediate_size":5632,
                                "vocab_size":128256,"num_hidden_layers":24})",
                R"({"gpu":"H100","gpus_per_node":8})",
                (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"grad_accum":64,
                                "sharding":"zero1")") +
                 more + "}")
                    .c_str());
    return rank_model(plan.shape, plan.count, plan.chosen.setting).layers;
  };
  EXPECT_EQ(layers(R"(,"pp":1)"), 24);
  EXPECT_EQ(layers(R"(,"pp":4)"), 8);  // the head weighs as much as five layers
  EXPECT_EQ(layers(R"(,"pp":4,"fp8":true)"), 6);
}

TEST(Memory, DdpCopiesGradientsIntoBuckets) {
  const auto grads = [](const char* sharding) {
    const Plan plan =
        plan_of(kSmol, R"({"gpu":"H100","gpus_per_node":8})",
                (std::string(R"({"method":"full","seq_len":512,"micro_batch":1,"sharding":")") + sharding +
                 R"(","optimizer":"adamw","activation_checkpointing":"full","loss_impl":"liger",
                    "reduce_dtype":"fp32"})")
                    .c_str());
    return share(plan, "gradients");
  };
  EXPECT_EQ(grads("ddp"), 2 * grads("zero1"));
}

TEST(Memory, OnlyTransformersModelsCopyTheLogitsToShiftLabels) {
  const auto loss = [](const char* more) {
    const Plan plan =
        plan_of(kLlama8, R"({"gpu":"H100","gpus_per_node":8})",
                (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"loss_impl":"standard")") + more + "}")
                    .c_str());
    return logits_bytes(plan.shape, plan.chosen.setting);
  };
  EXPECT_EQ(loss(R"(,"sharding":"fsdp1","compile":false)"), 14);
  // Backward is the larger half then, where nothing works in place.
  for (const char* more : {R"(,"sharding":"fsdp2")", R"(,"sharding":"zero3","cp":2)"})
    EXPECT_EQ(loss(more), 12) << more;
  for (const char* more : {R"(,"sharding":"fsdp1","compile":true)", R"(,"sharding":"zero1","tp":2)"}) {
    EXPECT_EQ(loss(more), 10) << more;
  }
}

TEST(Memory, DeepSpeedAccumulatesInTheParametersDtypeAndMegatronInFp32) {
  const auto grads = [](const char* more) {
    const Plan plan =
        plan_of(kMistral, R"({"gpu":"H100","gpus_per_node":8})",
                (std::string(R"({"method":"full","seq_len":512,"micro_batch":1,"sharding":"zero1","grad_accum":4)") +
                 more + "}")
                    .c_str());
    return share(plan, "gradients") / rank_model(plan.shape, plan.count, plan.chosen.setting).params();
  };
  EXPECT_NEAR(grads(""), 2, 1e-6);
  EXPECT_NEAR(grads(R"(,"reduce_dtype":"fp32")"), 4, 1e-6);
  EXPECT_NEAR(grads(R"(,"tp":2)"), 4, 1e-6);
  // NVIDIA's recipes with fused kernels reduce in 16 bits unless told otherwise.
  EXPECT_NEAR(grads(R"(,"tp":2,"cp":2)"), 2, 1e-6);
  EXPECT_NEAR(grads(R"(,"tp":2,"cp":2,"reduce_dtype":"fp32")"), 4, 1e-6);
}

TEST(Memory, DeepSpeedsMastersAreACopyInSixteenBitsToo) {
  const auto state = [](const char* sharding) {
    const Plan plan = plan_of(kMistral, R"({"gpu":"H100","gpus_per_node":8})",
                              (std::string(R"({"method":"full","seq_len":512,"micro_batch":1,"param_dtype":"bf16",
                                "master_dtype":"bf16","sharding":")") +
                               sharding + "\"}")
                                  .c_str());
    return share(plan, "optimizer") * 8 / plan.count.total;
  };
  EXPECT_NEAR(state("fsdp2"), 4, 1e-6);
  EXPECT_NEAR(state("zero3"), 6, 1e-6);
}

TEST(Memory, ThreeDimensionalStacksGatherInputsAgainAndFuseTheirNorms) {
  const auto saved = [](const char* sharding) {
    const Plan plan = plan_of(
        kMistral, R"({"gpu":"H100","gpus_per_node":8})",
        (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"tp":4,"sharding":")") + sharding + "\"}")
            .c_str());
    return layer_activations(plan.shape, plan.chosen.setting).saved;
  };
  // Two norms keep 2 bytes for 6, and two column projections only the rank's quarter of their inputs.
  EXPECT_EQ(saved("fsdp2") - saved("zero1"), 2 * 4.0 * 4096 / 4 + 2 * 2.0 * 4096 * 3 / 4);
}

TEST(Memory, EachGroupOfRanksHasBuffersOutsideTheAllocator) {
  const auto outside = [](const char* layout) {
    const Plan plan = plan_of(
        kMistral, R"({"gpu":"H100","gpus_per_node":8})",
        (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"sharding":"zero1")") + layout + "}").c_str());
    return plan.chosen.memory.nvidia_smi - plan.chosen.memory.reserved;
  };
  EXPECT_GT(outside(R"(,"tp":2)"), outside("") + 0.5 * kGib);
  EXPECT_GT(outside(R"(,"tp":2,"pp":2)"), outside(R"(,"tp":2)") + 0.5 * kGib);
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
  const LayerActivations all = layer_activations(plan.shape, whole);
  const LayerActivations part = layer_activations(plan.shape, plan.chosen.setting);
  EXPECT_EQ(all.input, 4 * part.input);
  EXPECT_GT(all.traffic, 1.5 * part.traffic);
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

TEST(Memory, FrozenWeightsOfTheNewerFsdpLieInTheMastersDtype) {
  const auto weights = [](const char* sharding, const char* master) {
    const Plan plan = plan_of(kMistral, R"({"gpu":"H100","gpus_per_node":8})",
                              (std::string(R"({"method":"lora","seq_len":512,"micro_batch":1,"sharding":")") +
                               sharding + R"(","master_dtype":")" + master + "\"}")
                                  .c_str());
    return share(plan, "weights") * 8 / plan.count.total;
  };
  EXPECT_NEAR(weights("fsdp2", "fp32"), 4, 0.05);
  EXPECT_NEAR(weights("fsdp2", "bf16"), 2, 0.05);
  EXPECT_NEAR(weights("fsdp1", "fp32"), 2, 0.05);
}

TEST(Memory, LigersKernelsComeWithATrainersAutocast) {
  const auto kept = [](const char* more) {
    return share(on_one(kMistral, std::string(R"("method":"lora","activation_checkpointing":"none",
                                                "loss_impl":"liger","master_dtype":"fp32")") +
                                      more),
                 "activations");
  };
  EXPECT_EQ(kept(""), kept(R"(,"amp":true)"));
}

TEST(Memory, TheRangeReachesKernelsThatMayComeWithLigersLoss) {
  const auto low = [](const char* loss) {
    const MemoryPlan m = on_one(kMistral, std::string(R"("method":"lora","activation_checkpointing":"full",
                                                         "amp":true,"loss_impl":)") +
                                              loss)
                             .chosen.memory;
    return m.low / m.allocated;
  };
  EXPECT_LT(low(R"("liger")"), low(R"("chunked")"));
}

TEST(Memory, AdaptersTrainedIn16BitsLeaveTheRestOfAFourBitModelNarrow) {
  const auto weights = [](const char* master) {
    return share(
        on_one(kMistral, std::string(R"("method":"qlora","activation_checkpointing":"full","loss_impl":"standard",
                                        "master_dtype":)") +
                             master),
        "weights");
  };
  const double norms = 65 * 4096, both_ends = 2.0 * 32000 * 4096;
  EXPECT_NEAR(weights(R"("fp32")") - weights(R"("bf16")"), 2 * (norms + both_ends), 1);
}

TEST(Memory, EightBitOptimizersHoldAdaptersMomentsInEightBits) {
  const auto moments = [](const char* optimizer) {
    return share(on_one(kMistral, std::string(R"("method":"lora","lora_rank":64,"optimizer":)") + optimizer),
                 "optimizer");
  };
  EXPECT_EQ(moments(R"("adamw")"), 4 * moments(R"("adamw-8bit")"));
}

TEST(Memory, AClampedGateKeepsMoreThanAPlainOne) {
  const auto saved = [](const char* type, const char* more) {
    const Plan plan = plan_of(
        (std::string(R"({"model_type":")") + type +
         R"(","hidden_size":2880,"num_hidden_layers":24,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,
           "intermediate_size":2880,"num_local_experts":32,"num_experts_per_tok":4,"vocab_size":201088})")
            .c_str(),
        R"({"gpu":"H100","gpus_per_node":8})",
        (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"sharding":"fsdp2")") + more + "}").c_str());
    return layer_activations(plan.shape, plan.chosen.setting).saved;
  };
  // Gate and up before the clamp, the clamped gate, its sigmoid, their product, and up plus one, over three tensors.
  EXPECT_EQ(saved("gpt_oss", "") - saved("mixtral", ""), (12 - 6) * 4.0 * 2880);
  EXPECT_EQ(saved("gpt_oss", R"(,"compile":true)"), saved("mixtral", R"(,"compile":true)"));
}

TEST(Memory, MegatronsLossHoldsAllLogitsUnlessSaidOtherwise) {
  const auto loss = [](const char* more) {
    const Plan plan = plan_of(
        kLlama8, R"({"gpu":"H100","gpus_per_node":8})",
        (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"sharding":"zero1")") + more + "}").c_str());
    return plan.chosen.setting.loss;
  };
  EXPECT_EQ(loss(R"(,"tp":2)"), Loss::kStandard);
  EXPECT_EQ(loss(R"(,"pp":2)"), Loss::kStandard);
  EXPECT_EQ(loss(R"(,"tp":2,"loss_impl":"chunked")"), Loss::kChunked);
}

TEST(Memory, WithoutCheckpointingTheGraphKeepsWhatZeroThreeGathered) {
  const auto plan = [](const char* more) {
    return plan_of(kMistral, R"({"gpu":"A100-80GB-SXM","gpus_per_node":8})",
                   (std::string(R"({"method":"full","seq_len":1024,"micro_batch":1,"sharding":"zero3",
                     "loss_impl":"standard","activation_checkpointing":)") +
                    more + "}")
                       .c_str());
  };
  const Plan kept = plan(R"("none")"), freed = plan(R"("full")");
  const MemoryPlan& m = kept.chosen.memory;
  EXPECT_NEAR(share(kept, "gathered_parameters"), 2 * kept.count.total, 1);
  EXPECT_NEAR(m.graph_weights, 2 * kept.count.total - 2e9, 1);
  EXPECT_LT(m.low, m.allocated - m.graph_weights + 1);
  EXPECT_EQ(freed.chosen.memory.graph_weights, 0);
  const auto says = [](const Plan& p) {
    return std::ranges::any_of(p.limits, [](const std::string& l) { return l.find("zero.Init") != std::string::npos; });
  };
  EXPECT_TRUE(says(kept));
  EXPECT_FALSE(says(freed));
}

}  // namespace
}  // namespace fx::knowledge::plan
