#include "knowledge/plan/engine_memory.h"

#include <algorithm>

namespace fx::knowledge::plan {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
// Pages of LibTorch and the program that a training process touches, thread stacks, communication buffers: bytes
// (measured).
constexpr double kProgram = 280e6;
// The C library keeps freed blocks of activation size, so their pool stays resident, holes included: bytes for a byte.
constexpr double kHeapWaste = 1.25;
// Tokens whose logits the engine's loss holds at once.
constexpr double kLossChunk = 256;
constexpr double kSpread = 0.12;

// Bytes per token that one block keeps: its input, both normed copies, the middle residual, rotated query and key,
// value, attention output, gate, up and their product, and the fp32 rotation table.
double block_bytes(const ModelShape& m, const Setting& s) {
  const double elements = 4 * m.hidden + m.q_width() + m.out_width() + 2 * m.kv_width() + (m.gated ? 3 : 2) * m.mlp;
  return s.param_bytes * elements + 4 * m.head_dim;
}

struct Sizes {
  double weights, optimizer, grads, activations, gathered, loss, root;
};

Sizes sizes_of(const ModelShape& m, const ParamCount& c, const Setting& s, const Machine& machine) {
  Sizes z{};
  const double n = shards_of(s, machine).weights, tokens = s.micro_batch * s.seq;
  z.weights = z.grads = 4 * c.total / n;
  z.optimizer = 8 * c.total / n;
  const double block = block_bytes(m, s);
  const double kept =
      s.checkpointing == Checkpointing::kFull ? m.layers * s.param_bytes * m.hidden + block : m.layers * block;
  z.activations = kHeapWaste * tokens * kept;
  // The embedding's group stays full; a block is full while the next one is gathered into a buffer of its own.
  const double end = std::max(c.embedding, c.head);
  const double blocks = s.reshard ? 3 * c.largest_layer : c.largest_layer * m.layers;
  z.gathered = s.param_bytes * (end + (m.tied ? 0 : c.head) + blocks);
  // Logits of one chunk and their gradient product, beside the head's whole gradient.
  z.loss = s.param_bytes * (std::min(kLossChunk, tokens) * m.vocab + 2 * end);
  // The largest group's gradient, the reduction's input, its output and what is added to the shard.
  z.root = (s.param_bytes + s.reduce_bytes + s.reduce_bytes / n + 4 / n) * end;
  return z;
}

}  // namespace

MemoryPlan plan_engine_memory(const ModelShape& m, const ParamCount& c, const Setting& s, const Machine& machine) {
  const Sizes z = sizes_of(m, c, s, machine);
  MemoryPlan plan;
  const double held = s.grad_accum > 1 ? z.grads : 0;
  const double at_loss = z.weights + z.optimizer + held + z.activations + z.gathered + z.loss + kProgram;
  const double at_end = z.weights + z.optimizer + z.grads + z.activations + z.root + kProgram;
  plan.moments = {{"loss", at_loss}, {"root_reduction", at_end}};
  const bool end = at_end >= at_loss;
  plan.peak_moment = end ? "root_reduction" : "loss";
  plan.components = {{"weights", z.weights},
                     {"gradients", end ? z.grads : held},
                     {"optimizer", z.optimizer},
                     {"activations", z.activations},
                     {"gathered_parameters", end ? 0 : z.gathered},
                     {"logits_and_loss", end ? 0 : z.loss},
                     {"temporary", end ? z.root : 0},
                     {"program", kProgram}};
  plan.allocated = plan.reserved = plan.nvidia_smi = plan.needed = std::max(at_loss, at_end);
  plan.low = plan.allocated * (1 - kSpread);
  plan.high = plan.allocated * (1 + kSpread);
  plan.host = plan.allocated * machine.gpus_per_node;
  plan.fits = plan.needed <= machine.gpu.memory_gib * kGib;
  return plan;
}

}  // namespace fx::knowledge::plan
