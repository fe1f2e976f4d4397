#include "knowledge/plan/engine_memory.h"

#include <algorithm>
#include <cmath>

namespace fx::knowledge::plan {
namespace {

constexpr double kMib = 1024.0 * 1024;
// Pages of LibTorch and of the program that a training process touches, its heap of small tensors, thread stacks: bytes
// (measured: resident after loading, shards taken off).
constexpr double kProgram = 110e6;
// Logits that the engine's loss holds at once: bytes, and tokens at most (its own bounds). Where the processor
// multiplies fp32 faster they are fp32: counted so.
constexpr double kLogits = 96 * kMib, kLossChunk = 512, kLogitBytes = 4;
// Half-width of the range: processors whose bf16 products go through fp32 widen operands, and packs differ in labels.
constexpr double kSpread = 0.12;

// Bytes per token that one block keeps: its input, both normed copies, the middle residual, rotated query and key,
// value, attention output, gate and up (an adapted down projection keeps their product too), and in fp32 the rotation
// table and the logarithm of each head's softmax sum.
double block_bytes(const ModelShape& m, const Setting& s) {
  const double mlp = (is_lora(s) ? 3 : 2) * m.mlp;
  const double elements = 4 * m.hidden + m.q_width() + m.out_width() + 2 * m.kv_width() + mlp;
  return s.param_bytes * elements + 4 * (m.head_dim + m.heads);
}

// Bytes per token that the blocks keep to the loss, and one recomputed block at its fullest. Every second block is
// recomputed while its neighbour's tensors are gone already.
double kept_bytes(const ModelShape& m, const Setting& s) {
  const double block = block_bytes(m, s), input = s.param_bytes * m.hidden;
  if (s.checkpointing == Checkpointing::kFull) return m.layers * input + block;
  const double recomputed = s.checkpointing == Checkpointing::kSelectiveLayer ? std::ceil(m.layers / 2) : 0;
  return recomputed * input + (m.layers - recomputed) * block;
}

struct Sizes {
  double weights, optimizer, grads, activations, gathered, loss, reduction;
};

Sizes sizes_of(const ModelShape& m, const ParamCount& c, const Setting& s, const Machine& machine) {
  Sizes z{};
  const double n = shards_of(s, machine).weights, tokens = s.micro_batch * s.seq;
  // Adapters alone have gradients, moments and fp32 weights; the base is kept in the dtype of compute.
  const bool lora = is_lora(s);
  const double trained = lora ? s.lora_params : c.total;
  z.weights = (4 * trained + (lora ? s.param_bytes * c.total : 0)) / n;
  z.grads = 4 * trained / n;
  z.optimizer = 8 * trained / n;
  z.activations = tokens * kept_bytes(m, s);
  // At the loss the head's group is full, and with it every block that is not freed after forward.
  const double head = std::max(c.embedding, c.head);
  z.gathered = s.param_bytes * (head + (s.reshard ? 0 : c.largest_layer * m.layers) + (lora ? trained : 0));
  // Logits of one chunk, a trained head's whole gradient, and the gradients of the head's input.
  const double logits = std::min(kLogits, kLogitBytes * m.vocab * std::min(kLossChunk, tokens));
  z.loss = logits + s.param_bytes * ((lora ? 0 : head) + 3 * tokens * m.hidden);
  // The largest group at the end: its gradient, the reduction's input and output. Tied, the embedding's own gradient is
  // added to the head's while the parameters are still full, which is less.
  z.reduction = (s.param_bytes + s.reduce_bytes + s.reduce_bytes / n) * (lora ? trained : head);
  return z;
}

}  // namespace

MemoryPlan plan_engine_memory(const ModelShape& m, const ParamCount& c, const Setting& s, const Machine& machine) {
  const Sizes z = sizes_of(m, c, s, machine);
  MemoryPlan plan;
  const double held = s.grad_accum > 1 ? z.grads : 0, fixed = z.weights + z.optimizer + kProgram;
  const double at_loss = fixed + held + z.activations + z.gathered + z.loss;
  const double at_end = fixed + z.grads + z.reduction;
  plan.moments = {{"loss", at_loss}, {"root_reduction", at_end}};
  const bool end = at_end >= at_loss;
  plan.peak_moment = end ? "root_reduction" : "loss";
  plan.components = {{"weights", z.weights},
                     {"gradients", end ? z.grads : held},
                     {"optimizer", z.optimizer},
                     {"activations", end ? 0 : z.activations},
                     {"gathered_parameters", end ? 0 : z.gathered},
                     {"logits_and_loss", end ? 0 : z.loss},
                     {"temporary", end ? z.reduction : 0},
                     {"program", kProgram}};
  plan.allocated = plan.reserved = plan.nvidia_smi = plan.needed = std::max(at_loss, at_end);
  plan.low = plan.allocated * (1 - kSpread);
  plan.high = plan.allocated * (1 + kSpread);
  plan.host = plan.allocated * machine.gpus_per_node;
  plan.fits = plan.needed <= machine.gpu.memory_gib * kGib;
  return plan;
}

}  // namespace fx::knowledge::plan
