#include "knowledge/plan/shape.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fx::knowledge::plan {
namespace {

Result<ModelShape> shape_of(const std::string& text) {
  const auto json = parse_json(text);
  if (!json) return json.error();
  const auto config = model_config_fields().parse(*json);
  if (!config) return config.error();
  return read_model_shape(*config);
}

double billions(const std::string& text) {
  const auto shape = shape_of(text);
  EXPECT_TRUE(shape) << text;
  return shape ? count_params(*shape).total / 1e9 : 0;
}

TEST(Shape, CountsLlama3) {
  EXPECT_NEAR(billions(R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
    "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256})"),
              8.030, 0.0005);
  EXPECT_NEAR(billions(R"({"model_type":"llama","hidden_size":16384,"num_hidden_layers":126,"num_attention_heads":128,
    "num_key_value_heads":8,"intermediate_size":53248,"vocab_size":128256})"),
              405.85, 0.005);
}

TEST(Shape, CountsATiedModelOnce) {
  EXPECT_NEAR(billions(R"({"model_type":"llama","hidden_size":576,"num_hidden_layers":30,"num_attention_heads":9,
    "num_key_value_heads":3,"intermediate_size":1536,"vocab_size":49152,"tie_word_embeddings":true})"),
              0.134515, 1e-6);
}

TEST(Shape, TheParameterCountDecidesWhatSizesLeaveOpen) {
  const auto sizes = [](const char* more) {
    return shape_of(std::string(R"({"hidden_size":2560,"num_hidden_layers":36,"num_attention_heads":32,
      "num_key_value_heads":8,"intermediate_size":9728,"vocab_size":151936)") +
                    more + "}");
  };
  const auto matched = sizes(R"(,"params_b":4.022)");
  ASSERT_TRUE(matched);
  EXPECT_TRUE(matched->tied);
  EXPECT_EQ(matched->head_dim, 128);
  EXPECT_EQ(matched->assumed.size(), 2u);
  // What is stated stays, and so does a shape that no change brings near the count.
  EXPECT_EQ(sizes(R"(,"params_b":4.022,"head_dim":80)")->head_dim, 80);
  EXPECT_FALSE(sizes(R"(,"params_b":4.022,"tie_word_embeddings":false)")->tied);
  EXPECT_TRUE(sizes(R"(,"params_b":40)")->assumed.empty());
  const auto plain = shape_of(R"({"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
    "intermediate_size":16384,"vocab_size":50000,"params_b":6.86})");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->gated);
}

TEST(Shape, CountsMptExactly) {
  // Learned positions, biases, tied embedding: the published count of the 7B configuration at 2,048 tokens.
  EXPECT_NEAR(
      billions(R"({"model_type":"mpt","d_model":4096,"n_heads":32,"n_layers":32,"expansion_ratio":4,"max_seq_len":2048,
    "vocab_size":50368,"no_bias":false,"tie_word_embeddings":true})"),
      6.658, 0.001);
}

TEST(Shape, HalvesTheMlpOfFirstGenerationQwen) {
  const auto shape =
      shape_of(R"({"model_type":"qwen","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
    "kv_channels":128,"intermediate_size":22016,"vocab_size":151936})");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->mlp, 11008);
  EXPECT_NEAR(count_params(*shape).total / 1e9, 7.72, 0.01);
}

TEST(Shape, ReadsGpt2NamesAndMultiQuery) {
  const auto shape =
      shape_of(R"({"model_type":"gpt_bigcode","n_embd":2048,"n_head":16,"n_layer":24,"n_inner":8192,"n_positions":2048,
    "vocab_size":49280,"multi_query":true})");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->kv_heads, 1);
  EXPECT_FALSE(shape->gated);
  EXPECT_NEAR(count_params(*shape).total / 1e9, 1.12, 0.02);
}

TEST(Shape, CountsExpertsAndLatentAttention) {
  EXPECT_NEAR(billions(R"({"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
    "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":32000,"num_local_experts":8,"num_experts_per_tok":2})"),
              46.70, 0.01);
  const auto shape =
      shape_of(R"({"model_type":"deepseek_v3","hidden_size":7168,"num_hidden_layers":61,"num_attention_heads":128,
    "num_key_value_heads":128,"intermediate_size":18432,"vocab_size":129280,"n_routed_experts":256,"n_shared_experts":1,
    "num_experts_per_tok":8,"moe_intermediate_size":2048,"first_k_dense_replace":3,"q_lora_rank":1536,"kv_lora_rank":512,
    "qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128})");
  ASSERT_TRUE(shape);
  EXPECT_NEAR(count_params(*shape).total / 1e9, 671, 1);
  EXPECT_NEAR(count_params(*shape).active / 1e9, 37.5, 0.5);
}

TEST(Shape, ReadsTheLanguageModelOfAMultiModalConfig) {
  EXPECT_NEAR(
      billions(R"({"model_type":"x","text_config":{"hidden_size":576,"num_hidden_layers":30,"num_attention_heads":9,
    "num_key_value_heads":3,"intermediate_size":1536,"vocab_size":49152,"tie_word_embeddings":true}})"),
      0.1345, 1e-3);
}

TEST(Shape, ABareCountGivesAModelOfThatSize) {
  for (const double b : {0.05, 0.5, 1.0, 7.0, 13.0, 70.0, 400.0}) {
    EXPECT_NEAR(billions("{\"params_b\":" + std::to_string(b) + "}") / b, 1, 0.1) << b;
  }
}

std::vector<std::string> fields_of(const Result<ModelShape>& result) {
  std::vector<std::string> fields;
  if (result) return fields;
  for (const auto& e : result.error().details) fields.push_back(e.field);
  if (fields.empty()) fields.push_back(result.error().field);
  return fields;
}

TEST(Shape, NamesEveryMistake) {
  using V = std::vector<std::string>;
  EXPECT_EQ(fields_of(shape_of("{}")), (V{"model.hidden_size", "model.num_hidden_layers"}));
  EXPECT_EQ(fields_of(shape_of(R"({"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":0})")),
            V{"num_attention_heads"});
  EXPECT_EQ(fields_of(shape_of(
                R"({"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":7,"num_key_value_heads":3})")),
            (V{"model.num_key_value_heads", "model.num_attention_heads"}));
  EXPECT_EQ(fields_of(shape_of(R"({"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4,"num_experts":4,
    "num_experts_per_tok":9})")),
            V{"model.num_experts_per_tok"});
}

}  // namespace
}  // namespace fx::knowledge::plan
