#include "tools/plan_finetune.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <optional>

#include "knowledge/formats/effective.h"
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

TEST(PlanFinetune, ACardWithoutBf16ComputesInFp16AndSaysSo) {
  const char* card =
      R"("hardware":{"gpu":"T4","gpus_per_node":2},"files":["accelerate"],"training":{"method":"qlora","seq_len":512)";
  const Json out = answer(arguments((std::string(card) + "}").c_str()).c_str());
  EXPECT_EQ(out["settings"]["param_dtype"], "fp16");
  EXPECT_EQ(out["settings"]["master_dtype"], "fp32");
  EXPECT_NE(out["files"]["accelerate"].dump().find("mixed_precision: fp16"), std::string::npos);
  const Json told = answer(arguments((std::string(card) + R"(,"param_dtype":"bf16"})").c_str()).c_str());
  EXPECT_EQ(told["settings"]["param_dtype"], "bf16");
  EXPECT_NE(told.dump().find("emulates bf16"), std::string::npos);
}

TEST(PlanFinetune, AdaptersInSteadOfAllWeightsDoNotClaimAnEightBitOptimizer) {
  const Json out = answer(arguments(R"("hardware":{"gpu":"T4"},"training":{"seq_len":512})").c_str());
  ASSERT_EQ(out["settings"]["optimizer"], "adamw");
  EXPECT_EQ(out.dump().find("8 bits"), std::string::npos);
}

// What a file says about one field against what the plan says.
template <class T>
void differ(const std::string& name, const std::optional<T>& file, const T& plan, std::string& text) {
  if (file && *file != plan) text += name + " differs from the plan\n";
}

// Whether the file describes the run that was planned.
std::string other_run(const std::string& name, const knowledge::Input& input, const Json& settings) {
  const knowledge::Effective run = knowledge::effective_run(input).run;
  std::string text;
  const auto size = [&](const char* field) { return settings[field].get<long long>(); };
  differ(name + ".cpu_offload", run.cpu_offload, settings["cpu_offload"].get<bool>(), text);
  if (settings["sharding"] == "fsdp2" || settings["sharding"] == "hsdp") {
    differ(name + ".reshard", run.reshard_after_forward, settings["reshard_after_forward"].get<bool>(), text);
  }
  if (name == "torchtitan") differ(name + ".seq_len", run.seq_len, size("seq_len"), text);
  if (run.mesh.tp.value_or(1) != size("tp") && name != "run_spec") text += name + ".tp differs from the plan\n";
  const std::string recompute = settings["activation_checkpointing"].get<std::string>();
  if (run.activation_checkpointing && (*run.activation_checkpointing == "none") != (recompute == "none")) {
    text += name + ".activation_checkpointing differs from the plan\n";
  }
  return text;
}

// Errors that our own rules find in the ready files of one plan, and where they say something else than the plan.
std::string complaints(const Json& arguments) {
  const auto out = plan_finetune(arguments);
  if (!out) return "no plan: " + out.error().message;
  std::string text;
  for (const auto& [name, file] : (*out)["files"].items()) {
    const auto input = knowledge::read_input(file.get<std::string>(), "", {});
    if (!input.applicable) text += name + ": not recognised\n";
    for (const auto& finding : knowledge::validate(input)) {
      if (finding.severity == Severity::kError) text += name + ": " + finding.rule + ": " + finding.message + "\n";
    }
    if (name != "torchrun" && name != "sbatch") text += other_run(name, input, (*out)["settings"]);
  }
  return text;
}

TEST(PlanFinetune, ReadyFilesPassOurOwnRules) {
  const std::vector<const char*> models = {
      R"({"params_b":0.5})", R"({"params_b":70})",
      R"({"model_type":"qwen3","hidden_size":4096,"num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,
          "intermediate_size":12288,"vocab_size":151936})",
      R"({"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,
          "intermediate_size":14336,"num_local_experts":8,"num_experts_per_tok":2,"vocab_size":32000})"};
  const std::vector<const char*> machines = {R"({"gpu":"H100","gpus_per_node":8})",
                                             R"({"gpu":"A100-40GB-SXM","gpus_per_node":8,"nodes":4})",
                                             R"({"gpu":"RTX 4090"})",
                                             R"({"gpu":"RTX 3090","gpus_per_node":2})",
                                             R"({"gpu":"V100-16GB","gpus_per_node":4})",
                                             R"({"gpu":"cpu","gpus_per_node":2,"cpu_cores":2,"host_memory_gib":64})"};
  const std::vector<const char*> trainings = {
      R"({"seq_len":4096})",
      R"({"method":"lora"})",
      R"({"method":"qlora","seq_len":2048})",
      R"({"seq_len":65536,"global_batch_size":64})",
      R"({"sharding":"hsdp","micro_batch":2,"grad_accum":4})",
      R"({"sharding":"hsdp","reshard_after_forward":false,"activation_checkpointing":"selective","cpu_offload":true})",
      R"({"method":"lora","sharding":"fsdp2","cpu_offload":true,"activation_checkpointing":"full","micro_batch":2})",
      R"({"sharding":"fsdp2","activation_checkpointing":"selective-layer","compile":true,"loss_impl":"liger","grad_accum":3})",
      R"({"global_batch_size":96,"optimizer":"adamw-8bit","fp8":true})",
      R"({"sharding":"fsdp2","cpu_offload":true,"reshard_after_forward":false,"activation_checkpointing":"selective-layer"})",
      R"({"sharding":"ddp","param_dtype":"fp32","activation_checkpointing":"full"})"};
  // Each training on each machine, the models in turn.
  std::size_t turn = 0;
  for (const char* machine : machines) {
    for (const char* training : trainings) {
      const char* model = models[turn++ % models.size()];
      Json arguments = {
          {"model", *parse_json(model)}, {"hardware", *parse_json(machine)}, {"training", *parse_json(training)}};
      arguments["files"] = {"accelerate", "torchtitan", "torchrun", "sbatch", "run_spec"};
      arguments["data"] = {{"tokens", 1e8}};
      EXPECT_EQ(complaints(arguments), "") << model << " " << machine << " " << training;
    }
  }
}

TEST(PlanFinetune, ReadyFilesOfSplitModelsPassToo) {
  const std::string arguments_text = std::string("{") + kLlama + "}";
  for (const char* split :
       {R"({"tp":4})", R"({"tp":2,"sharding":"hsdp","shard_size":4})", R"({"tp":2,"method":"lora","cpu_offload":true})",
        R"({"tp":8,"activation_checkpointing":"selective","reshard_after_forward":false})", R"({"tp":2,"cp":2})",
        R"({"pp":4,"grad_accum":8})", R"({"tp":8,"pp":2,"grad_accum":16})"}) {
    Json arguments = {{"model", (*parse_json(arguments_text))["model"]},
                      {"hardware", {{"gpu", "H100"}, {"gpus_per_node", 8}, {"nodes", 4}}},
                      {"training", *parse_json(split)},
                      {"files", {"accelerate", "torchtitan", "torchrun", "sbatch"}}};
    EXPECT_EQ(complaints(arguments), "") << split;
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
