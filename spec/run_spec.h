// The run spec: everything one training run is told. JSON in, struct inside, JSON out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/field_info.h"
#include "spec/json.h"
#include "spec/lora_spec.h"

namespace fx {

struct DataSpec {
  std::string path;
  std::string format = "messages";  // text, messages, tokens (an engine/data token file); ranks only ever read tokens
  long long max_seq_len = 1024;     // tokens in one pack, and the most one document may have
  bool packing = true;              // false: one document a pack
  // packs: a micro-batch is a fixed number of packs. dynamic: documents are not packed beforehand; a micro-batch is as
  // many of them as max_tokens_per_rank takes, balanced over ranks, and global_batch_size counts documents.
  std::string batching = "packs";
  // Of more than max_seq_len tokens: cut, split (into documents of their own) or refuse; auto splits text and cuts
  // messages and token files.
  std::string long_documents = "auto";
  bool dynamic() const { return batching == "dynamic"; }
};

struct OptimizerSpec {  // AdamW
  double lr = 2e-5;
  std::vector<double> betas = {0.9, 0.95};  // exactly two, each in [0, 1)
  double eps = 1e-8;
  double weight_decay = 0.0;        // decoupled; not applied to 1-D parameters
  std::string schedule = "cosine";  // cosine and linear fall to 0 at the last step; constant
  long long warmup_steps = 0;  // lr * (step + 1) / warmup_steps in the first warmup_steps steps (step counts from 0)
  double clip_grad = 1.0;      // largest global gradient norm; 0: no clipping
};

// What happens to a stage's full parameters after its forward. JSON: true (free), false (keep) or an integer k (keep a
// slice that blocks of k consecutive ranks hold; 1 < k < shard and k divides shard). k = shard reads as true, 1 as
// false.
struct ReshardAfterForward {
  bool free_after_forward = true;
  long long group_size = 0;  // k, or 0 when given as true or false
};

// kFull: each block keeps only its input and is computed again; kSelective: every second block does.
enum class ActivationCheckpointing { kNone, kSelective, kFull };

struct FsdpSpec {
  long long replicate = 1;
  long long shard = 0;  // parse_run_spec() replaces 0 by ranks / replicate
  ReshardAfterForward reshard_after_forward;
  std::string param_dtype = "bf16";   // compute and all-gather: bf16 or fp32; master weights are always fp32
  std::string reduce_dtype = "fp32";  // gradient reduce-scatter: fp32, bf16 or fp16
  bool norms_fp32 = false;            // weights of norms are gathered and computed in fp32
  // Gradients of the micro-batches of a step: true reduces each, false only their sum (whole gradients wait in memory).
  bool reduce_each_micro_batch = true;
  // Of the micro-batches of a step but the last: true frees the full parameters after the backward, false keeps those
  // that it leaves full for the next one.
  bool reshard_after_backward = true;
  // How many stages' gathers are started ahead of the stage that computes; 0: none.
  long long forward_prefetch = 1, backward_prefetch = 1;
  bool cpu_offload = false;
  ActivationCheckpointing activation_checkpointing =
      ActivationCheckpointing::kNone;  // JSON: none, selective, full, false, true
};

struct CheckpointSpec {
  long long every = 0;  // steps between checkpoints; 0: none but the final model and the one made when stopped
  long long keep = 2;   // newest complete ones that stay on disk
  bool async = false;   // written while training goes on
  bool resume = false;  // continue from the newest complete checkpoint of the same output folder, if there is one
};

struct RunSpec {
  std::string name;
  std::string model;  // HF folder: config.json, safetensors, tokenizer files
  DataSpec data;
  std::string output;  // HF folder to be made
  long long ranks = 1;
  std::optional<long long> steps;   // optimizer steps; exactly one of steps and epochs is set
  std::optional<long long> epochs;  // passes over all packs
  // Largest number of tokens one rank computes at once: floor(max_tokens_per_rank / max_seq_len) packs a micro-batch,
  // or with dynamic batching as many documents as fit.
  // parse_run_spec() replaces 0 by max_seq_len.
  long long max_tokens_per_rank = 0;
  // Packs (sequences of at most max_seq_len tokens; with dynamic batching: documents) in one optimizer step over ALL
  // ranks. The same packs make up a step
  // whatever the rank count; it need not divide by ranks. parse_run_spec() replaces 0 by one full micro-batch a rank.
  long long global_batch_size = 0;
  OptimizerSpec optimizer;
  FsdpSpec fsdp;
  std::optional<LoraSpec> lora;  // none: all weights are trained
  CheckpointSpec checkpoint;
  long long seed = 42;

  long long packs_per_micro_batch() const { return max_tokens_per_rank / data.max_seq_len; }
};

struct ParsedRunSpec {
  RunSpec spec;                       // defaults filled in: no zero that means "choose" is left
  std::vector<std::string> warnings;  // keys that were ignored, each with the nearest known one
};

// Every mistake of the input in one error (Error::details), each with its field path ("optimizer.betas[1]").
Result<ParsedRunSpec> parse_run_spec(const Json& json);
Result<ParsedRunSpec> parse_run_spec_text(std::string_view text);
// The complete spec; parse_run_spec(to_json(s)) gives s back.
Json to_json(const RunSpec& spec);
// The table behind all of this, for schemas and documentation.
const std::vector<FieldInfo>& run_spec_fields();

}  // namespace fx
