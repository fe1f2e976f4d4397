#include "spec/run_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "spec/fields.h"

namespace fx {

// Readers and printers of the two fields that take more than one JSON type; found by argument-dependent lookup.
static bool read_value(const Json& json, const FieldInfo&, const std::string& path, ReadLog& log,
                       ReshardAfterForward& out) {
  if (json.is_boolean()) return out = {json.get<bool>(), 0}, true;
  if (json.is_number_integer() && json.get<double>() >= 1 && json.get<double>() <= 1e6) {
    return out = {true, json.get<long long>()}, true;
  }
  log.errors.push_back(
      invalid_argument(path, "must be true, false or a number of ranks", "true frees the most memory"));
  return false;
}
static void write_value(Json& out, const std::string& key, const ReshardAfterForward& value) {
  if (value.group_size > 0) {
    out[key] = value.group_size;
  } else {
    out[key] = value.free_after_forward;
  }
}
static std::string field_type(const ReshardAfterForward*) {
  return "boolean";
}

static bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log,
                       ActivationCheckpointing& out) {
  std::string text;
  if (json.is_boolean()) {
    text = json.get<bool>() ? "full" : "none";
  } else if (!read_value(json, field, path, log, text)) {
    return false;
  }
  out = text == "full"        ? ActivationCheckpointing::kFull
        : text == "selective" ? ActivationCheckpointing::kSelective
                              : ActivationCheckpointing::kNone;
  return true;
}
static void write_value(Json& out, const std::string& key, ActivationCheckpointing value) {
  out[key] = value == ActivationCheckpointing::kFull        ? "full"
             : value == ActivationCheckpointing::kSelective ? "selective"
                                                            : "none";
}
static std::string field_type(const ActivationCheckpointing*) {
  return "string";
}

namespace {

const Fields<DataSpec>& data_fields() {
  static const auto fields =
      Fields<DataSpec>{}
          .add("path", &DataSpec::path, "training data: .jsonl, .txt or a token file")
          .required()
          .add("format", &DataSpec::format, "what the file holds")
          .one_of({"text", "messages", "tokens"})
          .add("max_seq_len", &DataSpec::max_seq_len, "tokens in one pack, and of one document (default 1024)")
          .min(2)
          .max(1 << 20)
          .add("packing", &DataSpec::packing, "put several documents into one pack (default true)")
          .add(
              "batching", &DataSpec::batching,
              "packs (default): a fixed number of packs at once; dynamic: as many documents as max_tokens_per_rank takes, balanced over ranks")
          .one_of({"packs", "dynamic"})
          .add("long_documents", &DataSpec::long_documents,
               "of more than max_seq_len tokens: cut, split, refuse; auto (default) splits text and cuts the rest")
          .one_of({"auto", "cut", "split", "refuse"});
  return fields;
}

const Fields<OptimizerSpec>& optimizer_fields() {
  static const auto fields =
      Fields<OptimizerSpec>{}
          .add("lr", &OptimizerSpec::lr, "peak learning rate (default 2e-5)")
          .above(0)
          .max(10)
          .add("betas", &OptimizerSpec::betas, "the two AdamW betas (default 0.9, 0.95)")
          .min(0)
          .max(0.9999999)
          .max_items(2)
          .add("eps", &OptimizerSpec::eps, "AdamW epsilon (default 1e-8)")
          .above(0)
          .max(1)
          .add("weight_decay", &OptimizerSpec::weight_decay, "decoupled weight decay (default 0)")
          .min(0)
          .max(10)
          .add("schedule", &OptimizerSpec::schedule, "learning rate after warm-up (default cosine)")
          .one_of({"cosine", "linear", "constant"})
          .add("warmup_steps", &OptimizerSpec::warmup_steps, "steps of linear warm-up (default 0)")
          .min(0)
          .max(1e9)
          .add("clip_grad", &OptimizerSpec::clip_grad, "largest global gradient norm, 0: no clipping (default 1)")
          .min(0)
          .max(1e9);
  return fields;
}

const Fields<FsdpSpec>& fsdp_fields() {
  static const auto fields =
      Fields<FsdpSpec>{}
          .add("replicate", &FsdpSpec::replicate, "copies of the sharded model, HSDP (default 1)")
          .min(1)
          .max(65536)
          .add("shard", &FsdpSpec::shard, "ranks that share one copy (default: ranks / replicate)")
          .min(0)
          .max(65536)
          .add("reshard_after_forward", &FsdpSpec::reshard_after_forward,
               "free full parameters after forward (default true); a whole number k keeps slices over k ranks")
          .add("param_dtype", &FsdpSpec::param_dtype, "compute and all-gather (default bf16)")
          .one_of({"bf16", "fp32"})
          .add("reduce_dtype", &FsdpSpec::reduce_dtype, "gradient reduction (default fp32)")
          .one_of({"bf16", "fp16", "fp32"})
          .add("norms_fp32", &FsdpSpec::norms_fp32, "gather and compute norms' weights in fp32 (default false)")
          .add(
              "reduce_each_micro_batch", &FsdpSpec::reduce_each_micro_batch,
              "reduce gradients after each micro-batch (default true); false: once a step, whole gradients stay in memory")
          .add(
              "reshard_after_backward", &FsdpSpec::reshard_after_backward,
              "free full parameters after each micro-batch's backward (default true); false: keep them until the step's last one")
          .add("forward_prefetch", &FsdpSpec::forward_prefetch,
               "stages whose gather is started ahead of the forward (default 1)")
          .min(0)
          .max(64)
          .add("backward_prefetch", &FsdpSpec::backward_prefetch,
               "stages whose gather is started ahead of the backward (default 1)")
          .min(0)
          .max(64)
          .add("cpu_offload", &FsdpSpec::cpu_offload, "keep shards and optimizer state in host memory (default false)")
          .add("activation_checkpointing", &FsdpSpec::activation_checkpointing,
               "recompute blocks in backward: none (default), selective (every second one), full")
          .one_of({"none", "selective", "full"});
  return fields;
}

const Fields<CheckpointSpec>& checkpoint_fields() {
  static const auto fields =
      Fields<CheckpointSpec>{}
          .add("every", &CheckpointSpec::every, "steps between checkpoints, 0: none (default 0)")
          .min(0)
          .max(1e9)
          .add("keep", &CheckpointSpec::keep, "newest checkpoints kept (default 2)")
          .min(1)
          .max(1e6)
          .add("async", &CheckpointSpec::async, "write while training goes on (default false)")
          .add("resume", &CheckpointSpec::resume, "continue from the newest complete checkpoint (default false)");
  return fields;
}

const Fields<RunSpec>& fields_of_run() {
  static const auto fields =
      Fields<RunSpec>{}
          .add("name", &RunSpec::name, "a name for people")
          .add("model", &RunSpec::model, "Hugging Face folder: config.json, safetensors, tokenizer files")
          .required()
          .add("data", &RunSpec::data, "training data", data_fields())
          .required()
          .add("output", &RunSpec::output, "folder of the trained model, made by the run")
          .required()
          .add("ranks", &RunSpec::ranks, "processes on this machine (default 1)")
          .min(1)
          .max(65536)
          .add("steps", &RunSpec::steps, "optimizer steps; give steps or epochs")
          .min(1)
          .max(1e9)
          .add("epochs", &RunSpec::epochs, "passes over the data; give steps or epochs")
          .min(1)
          .max(1e6)
          .add("max_tokens_per_rank", &RunSpec::max_tokens_per_rank,
               "tokens one rank computes at once (default: data.max_seq_len)")
          .min(0)
          .max(1e9)
          .add(
              "global_batch_size", &RunSpec::global_batch_size,
              "packs (dynamic batching: documents) in one optimizer step over all ranks (default: one micro-batch a rank)")
          .min(0)
          .max(1e7)
          .add("optimizer", &RunSpec::optimizer, "AdamW and its schedule", optimizer_fields())
          .add("fsdp", &RunSpec::fsdp, "sharding and precision", fsdp_fields())
          .add("lora", &RunSpec::lora, "train low-rank adapters on frozen weights (default: train all weights)",
               lora_fields())
          .add("checkpoint", &RunSpec::checkpoint, "saving and resuming", checkpoint_fields())
          .add("seed", &RunSpec::seed, "order of the data (default 42)")
          .min(0)
          .max(9e15);
  return fields;
}

// Replaces the zeros that mean "choose", where the other fields allow it.
void fill_defaults(RunSpec& spec) {
  if (spec.fsdp.shard == 0 && spec.ranks % spec.fsdp.replicate == 0) spec.fsdp.shard = spec.ranks / spec.fsdp.replicate;
  if (spec.max_tokens_per_rank == 0) spec.max_tokens_per_rank = spec.data.max_seq_len;
  if (spec.global_batch_size == 0) {
    spec.global_batch_size = spec.ranks * std::max<long long>(1, spec.packs_per_micro_batch());
  }
  if (spec.lora && spec.lora->alpha == 0) spec.lora->alpha = 2 * static_cast<double>(spec.lora->rank);
  auto& reshard = spec.fsdp.reshard_after_forward;
  if (reshard.group_size == 1) reshard = {false, 0};
  if (reshard.group_size == spec.fsdp.shard) reshard = {true, 0};
}

void check_sharding(const RunSpec& spec, std::vector<Error>& errors) {
  const auto& fsdp = spec.fsdp;
  if (fsdp.shard == 0) {
    errors.push_back(
        invalid_argument("fsdp.replicate",
                         std::to_string(fsdp.replicate) + " does not divide ranks (" + std::to_string(spec.ranks) + ")",
                         "use a divisor of ranks, or 1"));
  } else if (fsdp.replicate * fsdp.shard != spec.ranks) {
    errors.push_back(invalid_argument("fsdp.shard",
                                      "replicate * shard is " + std::to_string(fsdp.replicate * fsdp.shard) +
                                          ", but ranks is " + std::to_string(spec.ranks),
                                      "leave shard out, or make the product equal to ranks"));
  }
  const long long k = fsdp.reshard_after_forward.group_size;
  if (k > 0 && fsdp.shard > 0 && fsdp.shard % k != 0) {
    errors.push_back(
        invalid_argument("fsdp.reshard_after_forward",
                         std::to_string(k) + " does not divide the shard size " + std::to_string(fsdp.shard),
                         "use true, false or a divisor"));
  }
}

// Rules over several fields. Runs only when each field alone is right.
std::vector<Error> cross_check(const RunSpec& spec) {
  std::vector<Error> errors;
  for (const auto& [field, text] : {std::pair<const char*, const std::string*>{"model", &spec.model},
                                    {"data.path", &spec.data.path},
                                    {"output", &spec.output}}) {
    if (trim(*text).empty()) errors.push_back(invalid_argument(field, "is empty", "give a path"));
    if (text->find('\0') != std::string::npos) errors.push_back(invalid_argument(field, "holds a zero byte"));
  }
  if (spec.steps && spec.epochs) {
    errors.push_back(invalid_argument("epochs", "steps and epochs are both given", "keep one of them"));
  } else if (!spec.steps && !spec.epochs) {
    errors.push_back(invalid_argument("steps", "neither steps nor epochs is given", "for example \"epochs\": 1"));
  }
  if (spec.max_tokens_per_rank < spec.data.max_seq_len) {
    errors.push_back(invalid_argument("max_tokens_per_rank",
                                      std::to_string(spec.max_tokens_per_rank) + " is less than data.max_seq_len (" +
                                          std::to_string(spec.data.max_seq_len) + "): no pack would fit",
                                      "raise it, or lower data.max_seq_len"));
  }
  if (spec.optimizer.betas.size() != 2) {
    errors.push_back(invalid_argument("optimizer.betas", "must hold two numbers", "for example [0.9, 0.95]"));
  }
  if (spec.steps && spec.optimizer.warmup_steps > *spec.steps) {
    errors.push_back(invalid_argument("optimizer.warmup_steps",
                                      "more warm-up steps than steps: the peak learning rate is never reached",
                                      "at most " + std::to_string(*spec.steps)));
  }
  check_sharding(spec, errors);
  if (spec.lora) check_lora(*spec.lora, errors);
  return errors;
}

// Fields that ask for another run than the one that would be made without them.
void refuse_other_methods(const Json& json, std::vector<Error>& errors) {
  for (const char* name : {"qlora", "peft", "adapter", "quantization"}) {
    if (!json.is_object() || !json.contains(name) || json[name].is_null() || json[name] == false) continue;
    errors.push_back(unsupported(name,
                                 "the engine has LoRA adapters (\"lora\") but no other kind, and no quantized base",
                                 "use \"lora\", or PEFT under accelerate"));
  }
}

}  // namespace

Result<ParsedRunSpec> parse_run_spec(const Json& json) {
  ParsedRunSpec out;
  ReadLog log;
  fields_of_run().read(json, "", log, out.spec);
  refuse_other_methods(json, log.errors);
  if (log.errors.empty()) {
    fill_defaults(out.spec);
    log.errors = cross_check(out.spec);
  }
  if (!log.errors.empty()) return combine(std::move(log.errors));
  for (const auto& key : log.unknown) out.warnings.push_back("ignored unknown field " + key);
  return out;
}

Result<ParsedRunSpec> parse_run_spec_text(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return json.error();
  return parse_run_spec(*json);
}

Json to_json(const RunSpec& spec) {
  Json out = Json::object();
  fields_of_run().write(spec, out);
  return out;
}

const std::vector<FieldInfo>& run_spec_fields() {
  return fields_of_run().infos();
}

}  // namespace fx
