#include "spec/lora_spec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "spec/run_spec.h"

namespace fx {
namespace {

Result<ParsedRunSpec> parse(const char* lora) {
  Json json = *parse_json(R"({"model":"m","data":{"path":"d.jsonl"},"output":"o","steps":20})");
  json["lora"] = *parse_json(lora);
  return parse_run_spec(json);
}

ModelShape shape() {
  ModelShape shape;
  shape.architecture = "Qwen3ForCausalLM";
  shape.hidden = 48, shape.layers = 2, shape.heads = 4, shape.kv_heads = 2, shape.head_dim = 20;
  shape.intermediate = 70, shape.vocab = 101, shape.qk_norm = true;
  return shape;
}

TEST(LoraSpec, AbsentMeansThatAllWeightsAreTrained) {
  const auto parsed = parse_run_spec_text(R"({"model":"m","data":{"path":"d"},"output":"o","steps":2,"lora":null})");
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->spec.lora);
  EXPECT_FALSE(to_json(parsed->spec).contains("lora"));
}

TEST(LoraSpec, FillsInWhatIsLeftOutAndPrintsBack) {
  const auto parsed = parse(R"({"rank":8,"target_modules":["v_proj","q_proj"],"dropout":0.05})");
  ASSERT_TRUE(parsed) << to_line(parsed.error());
  EXPECT_EQ(parsed->spec.lora->alpha, 16);
  EXPECT_EQ(parsed->spec.lora->scale(), 2);
  EXPECT_EQ(adapted_modules(*parsed->spec.lora), (std::vector<std::string>{"q_proj", "v_proj"}));
  const Json printed = to_json(parsed->spec);
  EXPECT_EQ(printed["lora"]["alpha"], 16);
  EXPECT_EQ(printed["lora"]["dropout"], 0.05);
  EXPECT_EQ(to_json(parse_run_spec(printed)->spec), printed);
}

TEST(LoraSpec, RefusesWhatItDoesNotKnowAndWhatTrainsNothing) {
  EXPECT_EQ(parse(R"({"dropout":1})").error().field, "lora.dropout");
  EXPECT_EQ(parse(R"({"dropout":-0.1})").error().field, "lora.dropout");
  EXPECT_EQ(parse(R"({"target_modules":[]})").error().field, "lora.target_modules");
  EXPECT_EQ(parse(R"({"target_modules":["lm_head"]})").error().field, "lora.target_modules[0]");
  EXPECT_EQ(parse(R"({"rank":0})").error().field, "lora.rank");
  EXPECT_EQ(parse("true").error().field, "lora");
}

TEST(LoraSpec, AllLinearIsEveryProjectionOfEveryBlockButNotTheHead) {
  LoraSpec lora;
  lora.rank = 4;
  const auto adapters = adapters_of(shape(), lora);
  ASSERT_EQ(adapters.size(), 14u);
  EXPECT_EQ(adapters[0].weight, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(adapters[0].a.name, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(adapters[0].a.shape, (std::vector<std::int64_t>{4, 48}));
  EXPECT_EQ(adapters[0].b.shape, (std::vector<std::int64_t>{80, 4}));
  EXPECT_EQ(adapters[13].b.shape, (std::vector<std::int64_t>{48, 4}));
  EXPECT_EQ(adapter_parameter_count(shape(), lora), 2 * 4 * ((48 + 80) + 2 * (48 + 40) + (80 + 48) + 3 * (48 + 70)));
}

}  // namespace
}  // namespace fx
