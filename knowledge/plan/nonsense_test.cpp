// Any value in any field: a plan with finite numbers, or an error that names the field.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {
namespace {

Json valid() {
  return *parse_json(
      R"({"model":{"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":24,"num_attention_heads":16,
    "num_key_value_heads":4,"head_dim":128,"intermediate_size":6144,"moe_intermediate_size":768,"num_experts":64,
    "num_experts_per_tok":8,"vocab_size":151936,"max_position_embeddings":32768,"tie_word_embeddings":false},
    "hardware":{"gpu":"H100-80GB-SXM","gpus_per_node":8,"nodes":2,"interconnect_gb_s":100},
    "training":{"method":"full","seq_len":4096,"micro_batch":1,"grad_accum":2,"sharding":"fsdp2","tp":1,"pp":1,"cp":1,"ep":2,
    "param_dtype":"bf16","reduce_dtype":"fp32","optimizer":"adamw","activation_checkpointing":"full","loss_impl":"chunked",
    "cpu_offload":false,"reshard_after_forward":true,"lora_rank":8,"lora_targets":["q"],"compile":false,"fp8":false},
    "data":{"tokens":1e9},"price_per_gpu_hour":2.5})");
}

std::vector<Json> bad_values() {
  const double inf = std::numeric_limits<double>::infinity();
  return {nullptr,
          -1,
          0,
          1,
          0.5,
          -1e300,
          1e300,
          9.2e18,
          std::nan(""),
          inf,
          -inf,
          true,
          "",
          "nan",
          "-3",
          std::string(5000, 'x'),
          Json::array(),
          Json::array({1, nullptr}),
          Json::object(),
          Json{{"a", 1}}};
}

// The fields an answer of an error speaks of.
std::vector<std::string> fields_of(const Error& error) {
  std::vector<std::string> out = {error.field};
  for (const auto& e : error.details) out.push_back(e.field);
  return out;
}

// Empty when the answer keeps its promise; else what is wrong with it.
std::string broken_promise(const Json& json) {
  const auto args = plan_fields().parse(json);
  const auto plan = args ? make_plan(*args) : Result<Plan>(args.error());
  if (!plan) {
    for (const auto& field : fields_of(plan.error())) {
      if (!field.empty()) return {};
    }
    return "an error without a field: " + plan.error().message;
  }
  if (!plan->applicable) return {};
  const Candidate& c = plan->chosen;
  for (const double x :
       {c.memory.allocated, c.memory.low, c.memory.high, c.speed.tokens_per_s, c.speed.mfu, plan->hours, plan->cost}) {
    if (!std::isfinite(x) || x < 0) return "a number that is none";
  }
  return c.memory.low <= c.memory.allocated && c.memory.allocated <= c.memory.high ? "" : "a range without its value";
}

TEST(Nonsense, AnyValueInAnyFieldGivesAPlanOrAnErrorAtAField) {
  const Json whole = valid();
  for (const auto& [section, fields] : whole.items()) {
    if (!fields.is_object()) continue;
    for (const auto& [field, ignored] : fields.items()) {
      for (const Json& value : bad_values()) {
        Json json = valid();
        json[section][field] = value;
        EXPECT_EQ(broken_promise(json), "") << section << "." << field << " = " << value.dump().substr(0, 60);
      }
    }
  }
}

TEST(Nonsense, AnyValueInPlaceOfASectionToo) {
  const Json whole = valid();
  for (const auto& [section, ignored] : whole.items()) {
    for (const Json& value : bad_values()) {
      Json json = valid();
      json[section] = value;
      EXPECT_EQ(broken_promise(json), "") << section << " = " << value.dump().substr(0, 60);
    }
  }
}

TEST(Nonsense, AnyMissingFieldToo) {
  const Json whole = valid();
  for (const auto& [section, fields] : whole.items()) {
    Json without = valid();
    without.erase(section);
    EXPECT_EQ(broken_promise(without), "") << section;
    if (!fields.is_object()) continue;
    for (const auto& [field, ignored] : fields.items()) {
      Json json = valid();
      json[section].erase(field);
      EXPECT_EQ(broken_promise(json), "") << section << "." << field;
    }
  }
}

TEST(Nonsense, AllMistakesAreReportedTogether) {
  Json json = valid();
  json["model"]["hidden_size"] = 0;
  json["model"]["num_attention_heads"] = "many";
  json["hardware"]["nodes"] = -4;
  json["training"]["seq_len"] = 1e30;
  json["training"]["optimizer"] = 7;
  json["price_per_gpu_hour"] = -1;
  const auto args = plan_fields().parse(json);
  ASSERT_FALSE(args);
  const auto fields = fields_of(args.error());
  for (const char* field : {"model.hidden_size", "model.num_attention_heads", "hardware.nodes", "training.seq_len",
                            "training.optimizer", "price_per_gpu_hour"}) {
    EXPECT_NE(std::find(fields.begin(), fields.end(), field), fields.end()) << field;
  }
}

}  // namespace
}  // namespace fx::knowledge::plan
