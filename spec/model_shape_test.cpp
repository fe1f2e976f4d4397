#include "spec/model_shape.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numbers>

namespace fx {
namespace {

Json smollm() {
  return *parse_json(R"({"architectures":["LlamaForCausalLM"],"hidden_size":576,"num_hidden_layers":30,
    "num_attention_heads":9,"num_key_value_heads":3,"intermediate_size":1536,"vocab_size":49152,"hidden_act":"silu",
    "tie_word_embeddings":true,"rope_theta":100000,"rope_scaling":null,"rms_norm_eps":1e-5,"torch_dtype":"bfloat16",
    "max_position_embeddings":8192,"some_new_key":{"x":1}})");
}

std::vector<std::string> mistakes(const Json& config) {
  const auto shape = read_model_shape(config);
  if (shape) return {};
  if (shape.error().details.empty()) return {shape.error().field};
  std::vector<std::string> fields;
  for (const auto& e : shape.error().details) fields.push_back(e.field);
  return fields;
}

TEST(ModelShape, CountsTheParametersOfSmolLM2) {
  const auto shape = read_model_shape(smollm());
  ASSERT_TRUE(shape) << to_line(shape.error());
  EXPECT_EQ(shape->head_dim, 64);
  EXPECT_EQ(shape->dtype, "bf16");
  EXPECT_EQ(parameter_count(*shape), 134515008);
  EXPECT_EQ(parameters_of(*shape).size(), 272u);
}

TEST(ModelShape, UntiedHeadIsAParameterOfItsOwn) {
  Json config = smollm();
  config["tie_word_embeddings"] = false;
  const auto parameters = parameters_of(*read_model_shape(config));
  EXPECT_EQ(parameters.back().name, "lm_head.weight");
  EXPECT_EQ(parameters.back().shape, (std::vector<std::int64_t>{49152, 576}));
}

TEST(ModelShape, NamesEveryBadField) {
  Json config = smollm();
  config["hidden_size"] = 0;
  config["num_hidden_layers"] = -3;
  config["vocab_size"] = "many";
  config["rms_norm_eps"] = 7;
  config.erase("intermediate_size");
  EXPECT_EQ(mistakes(config), (std::vector<std::string>{"hidden_size", "num_hidden_layers", "vocab_size",
                                                        "rms_norm_eps", "intermediate_size"}));
}

TEST(ModelShape, ChecksHeadsAgainstEachOther) {
  Json config = smollm();
  config["num_attention_heads"] = 7;
  EXPECT_EQ(mistakes(config), (std::vector<std::string>{"num_attention_heads", "num_key_value_heads"}));
}

TEST(ModelShape, RefusesWhatTheEngineWouldGetWrong) {
  Json other = *parse_json(R"({"architectures":["Gemma2ForCausalLM"]})");
  const auto shape = read_model_shape(other);
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(shape.error().hint.find("LlamaForCausalLM"), std::string::npos);
  Json config = smollm();
  config["attention_bias"] = true;
  config["hidden_act"] = "gelu";
  config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4}};
  EXPECT_EQ(mistakes(config), (std::vector<std::string>{"attention_bias", "hidden_act", "rope_scaling.rope_type"}));
}

Json family(const char* architecture, const Json& more = Json::object()) {
  Json config = smollm();
  config["architectures"] = {architecture};
  config.update(more);
  return config;
}

bool has(const ModelShape& shape, const std::string& name, std::int64_t rows) {
  for (const auto& parameter : parameters_of(shape)) {
    if (parameter.name == name) return parameter.shape.front() == rows;
  }
  return false;
}

TEST(ModelShape, KnowsWhatEachFamilyHasBesideLlama) {
  const auto qwen2 = read_model_shape(family("Qwen2ForCausalLM"));
  ASSERT_TRUE(qwen2) << to_line(qwen2.error());
  EXPECT_TRUE(has(*qwen2, "model.layers.29.self_attn.k_proj.bias", 192));
  EXPECT_FALSE(has(*qwen2, "model.layers.29.self_attn.o_proj.bias", 576));
  const auto qwen3 = read_model_shape(family("Qwen3ForCausalLM"));
  ASSERT_TRUE(qwen3) << to_line(qwen3.error());
  EXPECT_EQ(qwen3->head_dim, 128);  // Qwen3's default, not hidden / heads
  EXPECT_TRUE(has(*qwen3, "model.layers.0.self_attn.q_norm.weight", 128));
  EXPECT_EQ(read_model_shape(family("Qwen3ForCausalLM", {{"head_dim", 64}}))->head_dim, 64);
}

TEST(ModelShape, ReadsTheSlidingWindowAsTheFamilyMeansIt) {
  const auto window = [](const Json& config) {
    const auto shape = read_model_shape(config);
    return shape ? shape->sliding_window : -1;
  };
  EXPECT_EQ(window(smollm()), 0);
  EXPECT_EQ(window(family("MistralForCausalLM")), 4096);
  EXPECT_EQ(window(family("MistralForCausalLM", {{"sliding_window", nullptr}})), 0);
  EXPECT_EQ(window(family("MistralForCausalLM", {{"sliding_window", 100}})), 100);
  EXPECT_EQ(window(family("Qwen2ForCausalLM", {{"sliding_window", 100}})), 0);
  const Json used = {{"sliding_window", 100}, {"use_sliding_window", true}};
  Json all = used, none = used, some = used, listed = used;
  all["max_window_layers"] = 0;
  none["max_window_layers"] = 30;
  some["max_window_layers"] = 10;
  listed["layer_types"] = Json::array();
  for (int i = 0; i < 30; ++i) listed["layer_types"].push_back(i % 2 == 0 ? "full_attention" : "sliding_attention");
  EXPECT_EQ(window(family("Qwen2ForCausalLM", all)), 100);
  EXPECT_EQ(window(family("Qwen2ForCausalLM", none)), 0);
  EXPECT_EQ(mistakes(family("Qwen2ForCausalLM", some)), (std::vector<std::string>{"max_window_layers"}));
  EXPECT_EQ(mistakes(family("Qwen3ForCausalLM", listed)), (std::vector<std::string>{"layer_types"}));
}

TEST(RopeInverseFrequencies, Llama3KeepsShortWavesAndStretchesLongOnes) {
  Json config = smollm();
  config["rope_parameters"] = {{"rope_type", "llama3"}, {"rope_theta", 500000},
                               {"factor", 32},          {"low_freq_factor", 1},
                               {"high_freq_factor", 4}, {"original_max_position_embeddings", 8192}};
  const auto scaled = rope_inverse_frequencies(*read_model_shape(config));
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500000}};
  const auto plain = rope_inverse_frequencies(*read_model_shape(config));
  ASSERT_EQ(scaled.size(), 32u);
  EXPECT_DOUBLE_EQ(scaled.front(), 1);
  EXPECT_DOUBLE_EQ(scaled.back() * 32, plain.back());
  int blended = 0;
  for (std::size_t i = 0; i < 32; ++i) blended += scaled[i] != plain[i] && scaled[i] * 32 != plain[i];
  EXPECT_GT(blended, 0);
}

TEST(ModelShape, AnswersAnyJsonWithAnError) {
  for (const auto* text :
       {"", "[]", "{}", "7", R"({"architectures":7})", R"({"architectures":["LlamaForCausalLM"],"rope_scaling":3})"}) {
    EXPECT_FALSE(read_model_shape_text(text)) << text;
  }
}

}  // namespace
}  // namespace fx
