#include "knowledge/plan/request.h"

namespace fx::knowledge::plan {
namespace {

using H = HardwareArgs;
using T = TrainingArgs;

const Fields<H>& hardware_fields() {
  static const auto fields =
      Fields<H>{}
          .add("gpu", &H::gpu, "GPU name such as H100-80GB-SXM, or cpu")
          .required()
          .add("gpus_per_node", &H::gpus_per_node, "GPUs (or CPU ranks) of one machine")
          .min(1)
          .max(1024)
          .add("nodes", &H::nodes, "machines")
          .min(1)
          .max(100000)
          .add("gpu_memory_gib", &H::gpu_memory_gib, "memory of one GPU; needed for an unknown GPU")
          .above(0)
          .max(10000)
          .add(
              "gpu_tflops", &H::gpu_tflops,
              "dense bf16 peak of one GPU; needed for an unknown GPU; with cpu: what one rank reaches in matrix products")
          .above(0)
          .max(1e6)
          .add("gpu_bandwidth_gb_s", &H::gpu_bandwidth_gb_s, "memory bandwidth of one GPU")
          .above(0)
          .max(1e6)
          .add("interconnect_gb_s", &H::interconnect_gb_s, "network into one machine, all cards together, GB/s")
          .above(0)
          .max(1e6)
          .add("host_memory_gib", &H::host_memory_gib, "memory of one machine")
          .above(0)
          .max(1e6)
          .add("cpu_cores", &H::cpu_cores, "cores of one machine, for gpu = cpu")
          .min(1)
          .max(4096);
  return fields;
}

void add_method(Fields<T>& f) {
  f.add("method", &T::method, "what is trained; none: nothing").one_of({"full", "lora", "qlora", "none"});
  f.add("lora_rank", &T::lora_rank, "rank of the adapters").min(1).max(100000);
  f.add("lora_targets", &T::lora_targets,
        "projections with adapters: q, k, v, o, mlp, full module names, or all-linear")
      .max_items(200);
  f.add("modules_to_save", &T::modules_to_save, "whole modules trained besides the adapters: embed_tokens, lm_head")
      .max_items(200);
  f.add("base_quant", &T::base_quant, "how the frozen base is stored")
      .one_of({"nf4", "nf4-dq", "gptq-int4", "int8", "none"});
  f.add("param_dtype", &T::param_dtype, "dtype of compute").one_of({"fp32", "bf16", "fp16"});
  f.add("reduce_dtype", &T::reduce_dtype, "dtype of gradient reduction").one_of({"fp32", "bf16", "fp16"});
  f.add("master_dtype", &T::master_dtype, "dtype that the optimizer steps on").one_of({"fp32", "bf16", "fp16"});
  f.add("amp", &T::amp, "compute dtype comes from autocast");
  f.add("optimizer", &T::optimizer, "optimizer")
      .one_of({"adamw", "adamw-fused", "adamw-8bit", "paged-adamw", "paged-adamw-8bit", "sgd", "adafactor", "lion",
               "muon"});
  f.add("optimizer_in_backward", &T::optimizer_in_backward, "step inside backward, gradients freed at once");
}

void add_shape(Fields<T>& f) {
  f.add("seq_len", &T::seq_len, "tokens of one sequence").min(1).max(1e8);
  f.add("micro_batch", &T::micro_batch, "sequences per GPU and forward pass").min(1).max(1e6);
  f.add("grad_accum", &T::grad_accum, "forward passes per optimizer step").min(1).max(1e6);
  f.add("global_batch_size", &T::global_batch_size, "sequences per optimizer step over all GPUs; decides grad_accum")
      .min(1)
      .max(1e9);
  f.add("activation_checkpointing", &T::activation_checkpointing, "what is recomputed in backward")
      .one_of({"none", "selective", "selective-layer", "full"});
  f.add("cpu_offload", &T::cpu_offload, "parameters, gradients and optimizer state live in host memory");
  f.add("sharding", &T::sharding, "how state is spread over GPUs")
      .one_of({"none", "ddp", "zero1", "zero2", "zero3", "fsdp", "fsdp1", "fsdp2", "hsdp", "megatron-fsdp"});
  f.add("reshard_after_forward", &T::reshard_after_forward, "free gathered parameters between forward and backward");
  f.add("shard_size", &T::shard_size, "GPUs that share one copy, for hsdp").min(1).max(1e6);
  f.add("tp", &T::tp, "tensor parallel size").min(1).max(1024);
  f.add("sequence_parallel", &T::sequence_parallel,
        "tensor parallelism divides the tokens between its matrix products too; default true");
  f.add("pp", &T::pp, "pipeline parallel size").min(1).max(1024);
  f.add("cp", &T::cp, "context parallel size").min(1).max(1024);
  f.add("ep", &T::ep, "expert parallel size").min(1).max(4096);
  f.add("attention", &T::attention, "how attention is computed: eager keeps every head's scores; default sdpa")
      .one_of({"eager", "sdpa", "flash"});
  f.add("use_cache", &T::use_cache,
        "the model returns its keys and values although it trains, as transformers' models do unless their own "
        "gradient checkpointing or config.use_cache turns it off; default false");
  f.add("loss_impl", &T::loss_impl, "how logits and cross-entropy are computed")
      .one_of({"standard", "fused", "chunked", "liger"});
  f.add("compile", &T::compile, "torch.compile");
  f.add("fp8", &T::fp8, "float8 matrix products");
}

const Fields<T>& training_fields() {
  static const auto fields = [] {
    Fields<T> f;
    add_method(f);
    add_shape(f);
    return f;
  }();
  return fields;
}

const Fields<DataArgs>& data_fields() {
  static const auto fields =
      Fields<DataArgs>{}
          .add("tokens", &DataArgs::tokens, "tokens to train on, all epochs together")
          .above(0)
          .max(1e18)
          .add("document_tokens", &DataArgs::document_tokens,
               "mean tokens of a document where attention stays inside the documents of a packed sequence")
          .above(0)
          .max(1e8)
          .add("example_tokens", &DataArgs::example_tokens,
               "mean tokens of an example where examples are not packed: each batch is padded to its longest, "
               "training.seq_len at most")
          .min(1)
          .max(1e8);
  return fields;
}

}  // namespace

const Fields<PlanArgs>& plan_fields() {
  static const auto fields =
      Fields<PlanArgs>{}
          .add("model", &PlanArgs::model, "fields of the model's config.json", model_config_fields())
          .required()
          .add("hardware", &PlanArgs::hardware, "the machines", hardware_fields())
          .required()
          .add("training", &PlanArgs::training, "settings; the planner chooses what is missing", training_fields())
          .add("data", &PlanArgs::data, "the data", data_fields())
          .add("price_per_gpu_hour", &PlanArgs::price_per_gpu_hour, "price of one GPU for one hour")
          .min(0)
          .max(1e6)
          .add("answers", &PlanArgs::answers, "answer the usual questions about an FSDP run in words; default true")
          .add("files", &PlanArgs::files, "ready files to write")
          .one_of({"accelerate", "torchtitan", "torchrun", "sbatch", "run_spec"})
          .max_items(10);
  return fields;
}

}  // namespace fx::knowledge::plan
