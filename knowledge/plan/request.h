// The arguments of a plan, as structs with their field tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "knowledge/plan/model_config.h"

namespace fx::knowledge::plan {

struct HardwareArgs {
  std::string gpu;
  long long gpus_per_node = 1, nodes = 1;
  std::optional<double> gpu_memory_gib, gpu_tflops, gpu_bandwidth_gb_s, interconnect_gb_s, host_memory_gib;
  std::optional<long long> cpu_cores;
};

struct TrainingArgs {
  std::optional<std::string> method;
  std::optional<long long> lora_rank;
  std::vector<std::string> lora_targets, modules_to_save;
  std::optional<std::string> base_quant;
  std::optional<long long> seq_len, micro_batch, grad_accum, global_batch_size;
  std::optional<std::string> param_dtype, reduce_dtype, master_dtype;
  std::optional<bool> amp;
  std::optional<std::string> optimizer;
  std::optional<bool> optimizer_in_backward;
  std::optional<std::string> activation_checkpointing;
  std::optional<bool> cpu_offload;
  std::optional<std::string> sharding;
  std::optional<bool> reshard_after_forward;
  std::optional<long long> shard_size;
  std::optional<long long> tp, pp, cp, ep;
  std::optional<bool> sequence_parallel;
  std::optional<std::string> attention;
  std::optional<bool> use_cache;
  std::optional<std::string> loss_impl;
  std::optional<bool> compile, fp8;
};

struct DataArgs {
  std::optional<double> tokens;
  std::optional<double> document_tokens, example_tokens;
};

struct PlanArgs {
  ModelConfig model;
  HardwareArgs hardware;
  TrainingArgs training;
  DataArgs data;
  std::optional<double> price_per_gpu_hour;
  bool answers = true;             // whether to answer the usual questions in words
  std::vector<std::string> files;  // which ready files to write
};

const Fields<PlanArgs>& plan_fields();

}  // namespace fx::knowledge::plan
