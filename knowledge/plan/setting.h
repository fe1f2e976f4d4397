// One fully decided training set-up on one kind of machine: what memory and speed are computed from.
#pragma once

#include <string>
#include <vector>

#include "knowledge/plan/gpu.h"
#include "knowledge/plan/shape.h"

namespace fx::knowledge::plan {

inline constexpr double kGib = 1024.0 * 1024 * 1024;
// Adapter rank when none is given: the usual default of the libraries.
inline constexpr double kUsualLoraRank = 16;

enum class Method { kFull, kLora, kQlora };
enum class Sharding { kNone, kDdp, kZero1, kZero2, kZero3, kFsdp1, kFsdp2, kHsdp, kMegatron };
enum class Checkpointing { kNone, kSelective, kSelectiveLayer, kFull };
enum class Attention { kEager, kSdpa, kFlash };
enum class Loss { kStandard, kFused, kChunked, kLiger };
enum class Optimizer { kAdamw, kAdamwFused, kAdamw8bit, kPagedAdamw, kPagedAdamw8bit, kSgd, kAdafactor, kLion, kMuon };
enum class Quant { kNone, kNf4, kNf4Double, kGptqInt4, kInt8 };

struct Machine {
  Gpu gpu;
  double gpus_per_node = 1, nodes = 1;
  double node_gb_s = 0;        // network into one machine, all cards together
  double host_memory_gib = 0;  // 0: unknown
  bool cpu = false;            // ranks are processes on CPU cores, running our own engine
  double cores_per_rank = 1;   // CPU only
  // GPUs that exchange over the fast link.
  double fast_group() const { return gpu.domain > gpus_per_node ? gpu.domain : gpus_per_node; }
  double world() const { return gpus_per_node * nodes; }
};

struct Setting {
  Method method = Method::kFull;
  double lora_rank = 0;
  double lora_params = 0;      // adapter parameters of the whole model
  double adapted_width = 0;    // sum of input widths of the adapted projections of one layer
  double adapted_output = 0;   // and of their output widths
  double adapter_inputs = 0;   // widths of the distinct tensors that they read, the attention's output left out
  double adapted_modules = 0;  // adapted projections of one layer
  double saved_params = 0;     // parameters of whole modules trained besides adapters
  Quant quant = Quant::kNone;
  double seq = 4096, micro_batch = 1, grad_accum = 1;
  double document = 0;  // tokens that attention stays within; 0: the whole sequence
  double example = 0;   // mean tokens of an example, in batches padded to their longest one; 0: all have seq tokens
  double param_bytes = 2, reduce_bytes = 4, master_bytes = 4;  // bytes an element
  bool fp16 = false;                                           // elements of 2 bytes are fp16, not bf16
  bool amp = false;
  bool amp_asked = false, reduce_asked = false;  // by the caller, not assumed
  bool wide_shards = false;                      // frozen weights lie in fp32 shards and are cast as they are gathered
  bool wide_params = false;  // fp32 parameters under autocast: kept and gathered in 4 bytes, multiplied in 2
  Optimizer optimizer = Optimizer::kAdamw;
  bool optimizer_in_backward = false;
  Checkpointing checkpointing = Checkpointing::kNone;
  bool offload = false;
  Sharding sharding = Sharding::kNone;
  bool reshard = true;
  double shard_size = 0;  // HSDP: GPUs that share one copy
  double tp = 1, pp = 1, cp = 1, ep = 1;
  bool sequence_parallel = true;  // tensor parallelism divides the tokens between its products too
  Attention attention = Attention::kSdpa;
  bool keeps_cache = false;  // keys and values of all layers stay with the model's output
  Loss loss = Loss::kChunked;
  bool own_loop = false;  // a training loop that computes its loss itself
  bool compile = false, fp8 = false;
  bool tf32 = false;   // fp32 products on tensor cores, which PyTorch does not do unless told to
  bool tuned = false;  // a stack of hand-fused kernels (Megatron with Transformer Engine)

  bool looped_experts = false, grouped_experts = false;  // how experts run, where it is not taken from the rest

  // One expert after the other, as models' own code did; expert parallelism and tuned stacks group their products, and
  // so do versions that train under the newer FSDP (torchtitan, transformers 5).
  bool loops_experts() const {
    const bool newer = sharding == Sharding::kFsdp2 || sharding == Sharding::kHsdp;
    return looped_experts || (!grouped_experts && ep <= 1 && !tuned && !newer);
  }
  double stored_bytes() const { return wide_params ? 4 : param_bytes; }  // of a parameter that is not quantised

  // Parameters stay gathered and gradients whole between the micro-batches of a pipeline.
  bool gathered_step() const { return pp > 1; }
  double attended() const { return document > 0 && document < seq ? document : seq; }
  double tokens() const { return micro_batch * seq / cp; }  // of one rank and micro-batch, before tp divides them
};

bool is_fsdp(Sharding sharding);  // gathers parameters unit by unit: fsdp1, fsdp2, hsdp, zero3, megatron-fsdp
bool is_deepspeed(Sharding sharding);
bool is_lora(const Setting& setting);
// Tensor or pipeline parallelism beside ZeRO-1: Megatron and what follows it (nanotron, Megatron-DeepSpeed, NeMo).
bool is_three_dimensional(const Setting& setting);
// Megatron's fused kernels and no word about gradients: they are taken to be kept and reduced in the parameters' dtype,
// as NVIDIA's recipes for speed do (NeMo: grad_reduce_in_fp32 = False). Megatron's own default is fp32.
bool assumes_narrow_gradients(const Setting& setting);
// peft's preparation of a 4- or 8-bit model casts what is not quantised to fp32, and with it what modules hand on to
// each other. Sharding needs one dtype, trainers with a loss of their own do not use it, who asks for autocast leaves
// it to that, and who trains adapters in 16 bits casts norms and embedding back (axolotl, TRL) or never widens them.
bool widens_rest(const Setting& setting);
// Bytes an entry of what modules hand on to each other.
double element_bytes(const Setting& setting);
// Ranks over which weights, gradients and optimizer state are divided.
struct Shards {
  double weights = 1, grads = 1, optimizer = 1, data_parallel = 1;
};
Shards shards_of(const Setting& setting, const Machine& machine);

// Shape and counts of the part of the model that one rank holds before data-parallel sharding: divided by tp, pp and
// ep.
struct RankModel {
  const ModelShape& shape;  // of the whole model; both outlive this
  const ParamCount& count;
  double layers = 0;         // on this rank
  double layer_params = 0;   // largest layer, after tp and ep
  double block_params = 0;   // all blocks on this rank
  double block_active = 0;   // what one token uses of them
  double expert_params = 0;  // of block_params: already divided by ep
  double quantizable = 0;    // of block_params: what a quantised base stores in few bits
  double root_params = 0;    // embedding, head, positions, final norm on the heaviest rank
  double params() const { return block_params + root_params; }
  // Parameters of this rank once data-parallel sharding has spread them over `ranks`.
  double sharded(double ranks, double ep) const {
    return (params() - expert_params) / ranks + expert_params / expert_ranks(ranks, ep);
  }
  // Expert parallelism uses the data-parallel ranks, so experts are left with ranks / ep of them to be sharded over.
  static double expert_ranks(double ranks, double ep) { return ranks > ep ? ranks / ep : 1; }
};
RankModel rank_model(const ModelShape& shape, const ParamCount& count, const Setting& setting);

}  // namespace fx::knowledge::plan
