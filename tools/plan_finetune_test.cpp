#include "tools/plan_finetune.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "knowledge/formats/input.h"
#include "knowledge/rules/validate.h"

namespace fx::tools {
namespace {

Json answer(const char* text) {
  const auto result = plan_finetune(*parse_json(text));
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : Json::object();
}

constexpr const char* kLlama =
    R"("model":{"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,
    "intermediate_size":14336,"vocab_size":128256})";

std::string arguments(const char* rest) {
  return std::string("{") + kLlama + "," + rest + "}";
}

TEST(PlanFinetune, AnswersWithTheAgreedFields) {
  const Json out =
      answer(arguments(R"("hardware":{"gpu":"H100","gpus_per_node":8},"training":{"method":"full","seq_len":8192},
    "data":{"tokens":1e9},"price_per_gpu_hour":2)")
                 .c_str());
  EXPECT_EQ(out["applicable"], true);
  EXPECT_EQ(out["strategy"], "fsdp");
  EXPECT_EQ(out["fits"], true);
  for (const char* key : {"allocated", "reserved", "nvidia_smi", "by_component", "peak_moment", "low", "high"}) {
    EXPECT_TRUE(out["memory_gib"].contains(key)) << key;
  }
  for (const char* key : {"tokens_per_s_per_gpu", "mfu", "hours", "cost"}) EXPECT_GT(out[key].get<double>(), 0) << key;
  EXPECT_NEAR(out["cost"].get<double>(), out["hours"].get<double>() * 16, 0.1);
  EXPECT_FALSE(out["recommendations"].empty());
}

TEST(PlanFinetune, ReadyFilesPassOurOwnRules) {
  for (const char* hardware :
       {R"("hardware":{"gpu":"H100","gpus_per_node":8})", R"("hardware":{"gpu":"A100","gpus_per_node":8,"nodes":4})",
        R"("hardware":{"gpu":"RTX 4090"})"}) {
    const Json out = answer(arguments((std::string(hardware) + R"(,"training":{"method":"lora","seq_len":4096},
      "files":["accelerate","torchtitan","torchrun","sbatch"])")
                                          .c_str())
                                .c_str());
    for (const auto& [name, text] : out["files"].items()) {
      const auto input = knowledge::read_input(text.get<std::string>(), "", {});
      EXPECT_TRUE(input.applicable) << name;
      for (const auto& finding : knowledge::validate(input)) {
        EXPECT_NE(finding.severity, Severity::kError) << name << ": " << finding.rule << ": " << finding.message;
      }
    }
  }
}

TEST(PlanFinetune, TextShowsFitAndBars) {
  const std::string text = plan_text(
      answer(arguments(R"("hardware":{"gpu":"H100","gpus_per_node":8},"training":{"method":"full"})").c_str()));
  EXPECT_NE(text.find("fits"), std::string::npos);
  EXPECT_NE(text.find("####"), std::string::npos);
  const std::string none =
      plan_text(answer(arguments(R"("hardware":{"gpu":"H100"},"training":{"method":"none"})").c_str()));
  EXPECT_NE(none.find("not applicable"), std::string::npos);
}

}  // namespace
}  // namespace fx::tools
