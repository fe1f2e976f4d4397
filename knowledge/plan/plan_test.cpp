#include "knowledge/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "knowledge/plan/plan_testing.h"

namespace fx::knowledge::plan {
namespace {

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

TEST(Plan, SaysWhichLibrariesKeepMore) {
  const auto limits = [](const char* training) {
    return plan_of(kMistral, R"({"gpu":"H100","gpus_per_node":8})", training).limits;
  };
  const char* pipeline = R"({"method":"full","seq_len":4096,"micro_batch":1,"sharding":"zero1","reduce_dtype":"fp32"})";
  EXPECT_TRUE(mentions(limits(pipeline), "bf16 optimizer"));
  const std::string wrapped = R"({"method":"full","seq_len":8192,"micro_batch":8,"sharding":"fsdp1","cpu_offload":false,
    "activation_checkpointing":"full","loss_impl":"liger")";
  EXPECT_TRUE(mentions(limits((wrapped + "}").c_str()), "use_cache"));
  EXPECT_FALSE(mentions(limits((wrapped + R"(,"use_cache":true})").c_str()), "use_cache"));
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

TEST(Plan, ExpertsBelongOnExpertParallelismUnlessTheirGathersHide) {
  const auto hides = [](const char* more) {
    const Plan plan = plan_of(
        R"({"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
        "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":32000,"num_local_experts":8,"num_experts_per_tok":2})",
        R"({"gpu":"H100","gpus_per_node":8,"nodes":8})",
        (std::string(R"({"method":"full","sharding":"fsdp2","activation_checkpointing":"full",)") + more + "}")
            .c_str());
    EXPECT_EQ(plan.strategy, "megatron-style ep/pp");
    return std::ranges::any_of(plan.reasons,
                               [](const std::string& r) { return r.find("gathers hide") != std::string::npos; });
  };
  EXPECT_TRUE(hides(R"("seq_len":8192,"micro_batch":4)"));
  EXPECT_FALSE(hides(R"("seq_len":512,"micro_batch":1)"));
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
