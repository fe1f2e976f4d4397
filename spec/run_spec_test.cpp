#include "spec/run_spec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fx {
namespace {

constexpr const char* kSmall = R"({"model":"m","data":{"path":"d.jsonl"},"output":"o","steps":20,"ranks":4})";

std::vector<std::string> mistakes(std::string_view text) {
  const auto parsed = parse_run_spec_text(text);
  std::vector<std::string> fields;
  if (parsed) return fields;
  for (const auto& e : parsed.error().details) fields.push_back(e.field);
  if (fields.empty()) fields.push_back(parsed.error().field);
  return fields;
}

TEST(RunSpec, FillsInWhatIsLeftOut) {
  const auto parsed = parse_run_spec_text(kSmall);
  ASSERT_TRUE(parsed) << to_line(parsed.error());
  EXPECT_EQ(parsed->spec.fsdp.shard, 4);
  EXPECT_EQ(parsed->spec.max_tokens_per_rank, 1024);
  EXPECT_EQ(parsed->spec.global_batch_size, 4);
  EXPECT_TRUE(parsed->spec.fsdp.reshard_after_forward.free_after_forward);
}

TEST(RunSpec, PrintsBackToTheSameSpec) {
  const auto text = R"({"name":"n","model":"m","data":{"path":"d","format":"text","max_seq_len":512,"packing":false,
      "batching":"dynamic","long_documents":"split"},
    "output":"o","ranks":8,"epochs":2,"max_tokens_per_rank":2048,"global_batch_size":5,
    "optimizer":{"lr":0.001,"betas":[0.5,0.75],"schedule":"linear","warmup_steps":3,"clip_grad":0},
    "fsdp":{"replicate":2,"shard":4,"reshard_after_forward":2,"param_dtype":"fp32","activation_checkpointing":true,
            "reshard_after_backward":false,"forward_prefetch":2,"backward_prefetch":0},
    "checkpoint":{"every":5,"keep":3,"async":true,"resume":true},"seed":7})";
  const auto first = parse_run_spec_text(text);
  ASSERT_TRUE(first) << to_line(first.error());
  EXPECT_EQ(first->spec.packs_per_micro_batch(), 4);
  const Json printed = to_json(first->spec);
  EXPECT_EQ(printed["data"]["long_documents"], "split");
  EXPECT_EQ(printed["data"]["batching"], "dynamic");
  EXPECT_EQ(printed["fsdp"]["reshard_after_forward"], 2);
  EXPECT_EQ(printed["fsdp"]["activation_checkpointing"], "full");
  EXPECT_EQ(printed["fsdp"]["reduce_each_micro_batch"], true);
  EXPECT_EQ(printed["fsdp"]["reshard_after_backward"], false);
  EXPECT_EQ(printed["fsdp"]["forward_prefetch"], 2);
  EXPECT_EQ(printed["fsdp"]["backward_prefetch"], 0);
  const auto second = parse_run_spec(printed);
  ASSERT_TRUE(second);
  EXPECT_EQ(to_json(second->spec), printed);
}

TEST(RunSpec, ReportsEveryMistakeOfSingleFieldsTogether) {
  EXPECT_EQ(mistakes(R"({"data":{"path":"d","format":"parquet","max_seq_len":0},"output":"o","steps":-1,
                        "optimizer":{"lr":0,"betas":[0.9,1.0]},"fsdp":{"reshard_after_forward":"yes"}})"),
            (std::vector<std::string>{"data.format", "data.max_seq_len", "steps", "optimizer.lr", "optimizer.betas[1]",
                                      "fsdp.reshard_after_forward", "model"}));
}

TEST(RunSpec, ChecksFieldsAgainstEachOther) {
  EXPECT_EQ(mistakes(R"({"model":" ","data":{"path":"d"},"output":"o","steps":2,"epochs":1,"ranks":4,
                        "max_tokens_per_rank":100,"optimizer":{"betas":[0.9],"warmup_steps":9},
                        "fsdp":{"replicate":2,"shard":3,"reshard_after_forward":2}})"),
            (std::vector<std::string>{"model", "epochs", "max_tokens_per_rank", "optimizer.betas",
                                      "optimizer.warmup_steps", "fsdp.shard", "fsdp.reshard_after_forward"}));
  EXPECT_EQ(mistakes(R"({"model":"m","data":{"path":"d"},"output":"o","ranks":3,"fsdp":{"replicate":2}})"),
            (std::vector<std::string>{"steps", "fsdp.replicate"}));
}

TEST(RunSpec, WholeShardAndOneAreSpelledAsBooleans) {
  Json json = *parse_json(kSmall);
  json["fsdp"]["reshard_after_forward"] = 4;
  EXPECT_EQ(to_json(parse_run_spec(json)->spec)["fsdp"]["reshard_after_forward"], true);
  json["fsdp"]["reshard_after_forward"] = 1;
  EXPECT_EQ(to_json(parse_run_spec(json)->spec)["fsdp"]["reshard_after_forward"], false);
}

TEST(RunSpec, IgnoresUnknownFieldsWithAWarning) {
  Json json = *parse_json(kSmall);
  json["optimizer"]["learning_rate"] = 1;
  json["stepz"] = 3;
  const auto parsed = parse_run_spec(json);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->warnings, (std::vector<std::string>{"ignored unknown field optimizer.learning_rate",
                                                        "ignored unknown field stepz (did you mean steps?)"}));
}

TEST(RunSpec, RefusesAMethodThatItWouldOtherwiseIgnore) {
  Json json = *parse_json(kSmall);
  json["qlora"] = {{"rank", 8}};
  const auto parsed = parse_run_spec(json);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(parsed.error().field, "qlora");
  json["qlora"] = nullptr;
  EXPECT_TRUE(parse_run_spec(json));
}

TEST(RunSpec, AnswersAnyJsonWithAnError) {
  for (const auto* text : {"", "[]", "null", "3", "{", R"({"data":[]})", R"({"model":{}})", R"({"steps":1e400})"}) {
    EXPECT_FALSE(parse_run_spec_text(text)) << text;
  }
}

}  // namespace
}  // namespace fx
