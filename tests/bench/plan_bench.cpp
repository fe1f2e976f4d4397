// How long one plan and one full search take, in process: median of many, in milliseconds, as JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/plan_finetune.h"

namespace {

double median_ms(const fx::Json& arguments, int times) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const auto began = std::chrono::steady_clock::now();
    const auto plan = fx::tools::plan_finetune(arguments);
    if (!plan) return -1;
    all.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

}  // namespace

int main() {
  fx::Json arguments = *fx::parse_json(R"({"model":{"model_type":"llama","hidden_size":8192,"num_hidden_layers":80,
    "num_attention_heads":64,"num_key_value_heads":8,"intermediate_size":28672,"vocab_size":128256},
    "hardware":{"gpu":"H100-80GB-SXM","gpus_per_node":8,"nodes":8},"training":{"method":"full","seq_len":8192}})");
  const double search = median_ms(arguments, 51);
  arguments["hardware"]["nodes"] = 1;  // every reach of the search is needed before something fits
  const double deepest = median_ms(arguments, 51);
  arguments["training"] =
      *fx::parse_json(R"({"method":"full","seq_len":8192,"micro_batch":1,"grad_accum":1,"sharding":"fsdp2",
    "reshard_after_forward":true,"activation_checkpointing":"full","cpu_offload":false,"loss_impl":"chunked","optimizer":"adamw",
    "master_dtype":"fp32","reduce_dtype":"fp32","tp":1})");
  const double fixed = median_ms(arguments, 201);
  arguments["answers"] = false;
  const double bare = median_ms(arguments, 201);
  std::printf(
      "{\"plan_ms\": %.3f, \"plan_without_answers_ms\": %.3f, \"search_ms\": %.3f, \"deepest_search_ms\": %.3f}\n",
      fixed, bare, search, deepest);
  // The promise: 1 ms for a fixed setting, 50 ms for a full search.
  return bare > 0 && bare < 1 && search > 0 && search < 50 && deepest > 0 && deepest < 50 ? 0 : 1;
}
