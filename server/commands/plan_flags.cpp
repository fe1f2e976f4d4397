#include "server/commands/plan_flags.h"

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace fx::server {
namespace {

using Kind = PlanFlag::Kind;

// "24GB", "24 GiB" and "24G" are 24 where gigabytes are asked for.
std::string without_giga(std::string text) {
  const std::string low = to_lower(text);
  for (const std::string_view unit : {"gib", "gb", "g"}) {
    if (low.size() > unit.size() && low.ends_with(unit))
      return std::string(trim(text.substr(0, text.size() - unit.size())));
  }
  return text;
}

// "8192", "8k", "1.5B", "1e9".
std::optional<double> read_number(std::string text, double kilo) {
  double scale = 1;
  if (!text.empty()) {
    const std::string_view units = "kmbt";
    const auto power = units.find(static_cast<char>(std::tolower(static_cast<unsigned char>(text.back()))));
    if (power != std::string_view::npos) {
      scale = std::pow(kilo, static_cast<double>(power + 1));
      text.pop_back();
    }
  }
  const auto number = to_number(text);
  if (!number || !std::isfinite(*number * scale)) return std::nullopt;
  return *number * scale;
}

Json number_json(double value) {
  const bool whole = std::floor(value) == value && std::abs(value) < 9e15;
  return whole ? Json(static_cast<long long>(value)) : Json(value);
}

// "training.seq_len" inside the arguments.
Json& place(Json& arguments, const std::string& field) {
  const auto dot = field.find('.');
  return dot == std::string::npos ? arguments[field] : arguments[field.substr(0, dot)][field.substr(dot + 1)];
}

}  // namespace

const std::vector<PlanFlag>& plan_flags() {
  constexpr auto kText = Kind::kText, kNumber = Kind::kNumber, kGigabytes = Kind::kGigabytes, kSwitch = Kind::kSwitch;
  static const std::vector<PlanFlag> flags = {
      {"--params", "model.params_b", kNumber, "Billions of parameters, when there is no config.json: 8, 8B, 500M", 1000,
       1e9},
      {"--gpu", "hardware.gpu", kText, "GPU, such as A100-80GB-SXM, or cpu"},
      {"--gpus", "hardware.gpus_per_node", kNumber, "GPUs a machine"},
      {"--nodes", "hardware.nodes", kNumber, "Machines"},
      {"--network", "hardware.interconnect_gb_s", kNumber, "Network into a machine, all its cards, GB/s"},
      {"--gpu-memory", "hardware.gpu_memory_gib", kGigabytes, "Memory of one GPU, GiB"},
      {"--gpu-tflops", "hardware.gpu_tflops", kNumber, "Dense bf16 peak of one GPU"},
      {"--host-memory", "hardware.host_memory_gib", kGigabytes, "Memory of one machine, GiB"},
      {"--cores", "hardware.cpu_cores", kNumber, "Cores of a machine, with --gpu cpu"},
      {"--method", "training.method", kText, "full, lora or qlora"},
      {"--lora-rank", "training.lora_rank", kNumber, "Rank of the adapters"},
      {"--quant", "training.base_quant", kText, "nf4, nf4-dq, gptq-int4, int8"},
      {"--seq,--seq-len", "training.seq_len", kNumber, "Tokens a sequence: 4096, 8k", 1024},
      {"--micro-batch", "training.micro_batch", kNumber, "Sequences a GPU and micro-step"},
      {"--grad-accum", "training.grad_accum", kNumber, "Micro-steps an optimizer step"},
      {"--global-batch", "training.global_batch_size", kNumber, "Sequences an optimizer step over all GPUs"},
      {"--dtype", "training.param_dtype", kText, "Compute: bf16, fp16, fp32"},
      {"--master-dtype", "training.master_dtype", kText, "What the optimizer steps on: fp32, bf16"},
      {"--optimizer", "training.optimizer", kText, "adamw, adamw-8bit, sgd, ..."},
      {"--checkpointing", "training.activation_checkpointing", kText, "none, selective, selective-layer, full"},
      {"--offload", "training.cpu_offload", kSwitch, "State in host memory"},
      {"--sharding", "training.sharding", kText, "ddp, fsdp2, hsdp, zero3, ..."},
      {"--shard-size", "training.shard_size", kNumber, "GPUs that share one copy, with hsdp"},
      {"--tp", "training.tp", kNumber, "Tensor parallel size"},
      {"--pp", "training.pp", kNumber, "Pipeline stages"},
      {"--cp", "training.cp", kNumber, "Context parallel size"},
      {"--ep", "training.ep", kNumber, "Expert parallel size"},
      {"--attention", "training.attention", kText, "eager, sdpa, flash"},
      {"--loss", "training.loss_impl", kText, "standard, fused, chunked, liger"},
      {"--compile", "training.compile", kSwitch, "torch.compile"},
      {"--fp8", "training.fp8", kSwitch, "float8 matrix products"},
      {"--tokens", "data.tokens", kNumber, "Tokens to train on, for hours and cost: 1e9, 300M"},
      {"--example-tokens", "data.example_tokens", kNumber, "Mean tokens of an example, in padded batches"},
      {"--price", "price_per_gpu_hour", kNumber, "Price of a GPU hour"}};
  return flags;
}

Result<void> add_plan_flags(const PlanFlagTexts& texts, Json& arguments) {
  std::vector<Error> errors;
  for (const PlanFlag& flag : plan_flags()) {
    const auto given = texts.find(flag.field);
    if (given == texts.end() || given->second.empty()) continue;
    Json& value = place(arguments, flag.field);
    if (flag.kind == Kind::kSwitch) value = true;
    if (flag.kind == Kind::kText) value = given->second;
    if (flag.kind == Kind::kSwitch || flag.kind == Kind::kText) continue;
    const bool gigabytes = flag.kind == Kind::kGigabytes;
    if (const auto number = read_number(gigabytes ? without_giga(given->second) : given->second, flag.kilo)) {
      value = number_json(*number < 1e6 ? *number : *number / flag.unit);
    } else {
      errors.push_back(invalid_argument(flag.field, quote_input(given->second, 40) + " is not a number",
                                        std::string(flag.help) + "; write it like 8, 8k or 1.5B"));
    }
  }
  if (!errors.empty()) return combine(std::move(errors));
  return {};
}

}  // namespace fx::server
