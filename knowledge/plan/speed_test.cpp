#include "knowledge/plan/speed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "knowledge/plan/plan_testing.h"

namespace fx::knowledge::plan {
namespace {

TEST(Speed, ThePipelinesLastRankIsSlowerByTheHeadUnlessItHasFewerLayers) {
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

TEST(Speed, TheRangeOfTheSpeedHoldsItAndSpansKernelsAndThreadsThatMayDiffer) {
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

TEST(Speed, ContextParallelismBesideZero1MeansFusedKernels) {
  const auto rate = [](const char* layout) {
    const std::string training =
        std::string(R"({"method":"full","seq_len":8192,"micro_batch":1,"sharding":)") + layout + "}";
    return plan_of(kLlama8, R"({"gpu":"H100","gpus_per_node":8})", training.c_str()).chosen.speed.tokens_per_s;
  };
  EXPECT_GT(rate(R"("zero1","cp":2)"), 1.2 * rate(R"("zero1")"));
  EXPECT_LT(rate(R"("fsdp2","cp":2)"), 1.1 * rate(R"("fsdp2")"));
}

TEST(Speed, ModelFlopsLeaveOutGradientsOfFrozenWeights) {
  const auto flops = [](const char* training) {
    const auto speed = plan_of(kLlama8, R"({"gpu":"H100"})", training).chosen.speed;
    return speed.mfu / speed.tokens_per_s;
  };
  const double full = flops(R"({"method":"full","seq_len":128,"micro_batch":1})");
  const double lora = flops(R"({"method":"lora","seq_len":128,"micro_batch":1})");
  EXPECT_NEAR(lora / full, 4.0 / 6, 0.01);
}

TEST(Speed, AttentionInsideShortDocumentsCostsLess) {
  Json json = arguments(kLlama8, R"({"gpu":"H100"})", R"({"method":"lora","seq_len":8192,"micro_batch":1})");
  const auto seconds = [&] { return try_plan(json)->chosen.speed.attention_s; };
  const double whole = seconds();
  json["data"] = {{"document_tokens", 1024}};
  EXPECT_NEAR(seconds() / whole, 1.0 / 8, 1e-9);
}

TEST(Speed, ACpusOwnMeasuredRateReplacesTheTable) {
  const auto speed = [](const char* hardware) {
    return plan_of(kSmol, hardware, R"({"method":"full","seq_len":1024,"micro_batch":1})").chosen.speed.tokens_per_s;
  };
  const double slow = speed(R"({"gpu":"cpu","gpus_per_node":2,"cpu_cores":2,"gpu_tflops":0.05})");
  const double fast = speed(R"({"gpu":"cpu","gpus_per_node":2,"cpu_cores":2,"gpu_tflops":0.2})");
  EXPECT_GT(fast, 2 * slow);
}

TEST(Speed, TheRangeReachesOtherAttentionKernels) {
  const auto width = [](const char* seq) {
    const Plan plan = plan_of(kLlama8, R"({"gpu":"H100","gpus_per_node":8})",
                              (std::string(R"({"method":"full","micro_batch":1,"sharding":"fsdp2","cp":8,"seq_len":)") +
                               seq + R"(,"activation_checkpointing":"full"})")
                                  .c_str());
    return plan.speed_high / plan.speed_low;
  };
  EXPECT_GT(width("1048576"), 1.5 * width("8192"));
}

TEST(Speed, AHeadWhoseRowsAreNotAlignedIsSlow) {
  const auto gemm = [](const char* vocab) {
    return plan_of((std::string(R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"vocab_size":)") + vocab +
                    "}")
                       .c_str(),
                   R"({"gpu":"A100"})", R"({"method":"full","seq_len":1024,"micro_batch":8})")
        .chosen.speed.gemm_s;
  };
  EXPECT_GT(gemm("50257"), 1.2 * gemm("50304"));
}

TEST(Speed, AttentionIsFasterOverLongSequences) {
  const auto seconds_a_score = [](double seq) {
    return plan_of(
               kLlama8, R"({"gpu":"H100"})",
               (R"({"method":"lora","micro_batch":1,"sharding":"none","activation_checkpointing":"full","seq_len":)" +
                std::to_string(static_cast<int>(seq)) + "}")
                   .c_str())
               .chosen.speed.attention_s /
           (seq * seq);
  };
  EXPECT_NEAR(seconds_a_score(2048) / seconds_a_score(8192), 1, 1e-6);
  EXPECT_GT(seconds_a_score(8192), 1.3 * seconds_a_score(32768));
  EXPECT_NEAR(seconds_a_score(32768) / seconds_a_score(131072), 1, 1e-6);
}

TEST(Speed, LayersWithAWindowLookBackAtNoMore) {
  const auto seconds = [](const char* more) {
    const Plan plan = plan_of((std::string(R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,
      "num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000)") +
                               more + "}")
                                  .c_str(),
                              R"({"gpu":"A100"})", R"({"method":"lora","seq_len":8192,"micro_batch":1})");
    return plan.chosen.speed.attention_s;
  };
  const double whole = seconds("");
  EXPECT_NEAR(seconds(R"(,"sliding_window":512)") / whole, 2 * 1.0 / 16 * (1 - 1.0 / 32), 1e-6);
  EXPECT_NEAR(seconds(R"(,"sliding_window":512,"layer_types":["full_attention","sliding_attention"])") / whole,
              0.5 + 1.0 / 16 * (1 - 1.0 / 32), 1e-6);
  EXPECT_EQ(seconds(R"(,"sliding_window":512,"use_sliding_window":false)"), whole);
  EXPECT_EQ(seconds(R"(,"sliding_window":32768)"), whole);
}

TEST(Speed, Fp32ProductsStayOffTensorCoresUnlessToldOtherwise) {
  const auto plan = [](const char* dtype) {
    return plan_of(
        kMistral, R"({"gpu":"A100"})",
        (std::string(R"({"method":"lora","seq_len":1024,"micro_batch":1,"param_dtype":")") + dtype + "\"}").c_str());
  };
  const Plan wide = plan("fp32"), narrow = plan("bf16");
  EXPECT_GT(wide.chosen.speed.gemm_s, 10 * narrow.chosen.speed.gemm_s);
  EXPECT_GT(wide.speed_high, 4 * wide.chosen.speed.tokens_per_s);
  const auto says = [](const Plan& p) {
    return std::ranges::any_of(p.limits, [](const std::string& l) { return l.find("float32_matmul") != l.npos; });
  };
  EXPECT_TRUE(says(wide));
  EXPECT_FALSE(says(narrow));
}

TEST(Speed, TheNewerFsdpGroupsExperts) {
  const char* experts = R"({"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,
    "num_key_value_heads":4,"head_dim":128,"moe_intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,
    "vocab_size":151936})";
  const auto loops = [&](const char* sharding) {
    return plan_of(experts, R"({"gpu":"H100","gpus_per_node":8})",
                   (std::string(R"({"method":"full","seq_len":4096,"micro_batch":1,"sharding":")") + sharding + "\"}")
                       .c_str())
        .chosen.setting.loops_experts();
  };
  EXPECT_FALSE(loops("fsdp2"));
  EXPECT_TRUE(loops("fsdp1"));
  EXPECT_TRUE(loops("zero3"));
}

}  // namespace
}  // namespace fx::knowledge::plan
