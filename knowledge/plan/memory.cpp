#include "knowledge/plan/memory.h"

#include <algorithm>
#include <array>

#include "knowledge/plan/engine_memory.h"
#include "knowledge/plan/lengths.h"
#include "knowledge/plan/states.h"

namespace fx::knowledge::plan {
namespace {

// CUDA context with loaded kernels; first use of NCCL in a process (SB: 0.5 - 0.9 and 1 - 1.5 GiB).
constexpr double kContext = 0.8 * kGib, kNccl = 0.8 * kGib;
// A context before kernels are loaded, which a full GPU still has beside the allocator's blocks.
constexpr double kLeastContext = 0.3 * kGib;
// Buffers of each further group of ranks that exchange (NVIDIA/nccl issue 964: 0.53 GiB a pair of A100s on NVLink, 0.67
// a larger group).
constexpr double kCommunicator = 0.6 * kGib;
// Both where no fast link asks for many channels (NVIDIA/nccl issue 986: as many bytes as channels), over that.
constexpr double kFewChannels = 0.4;
// Workspace of the matrix library and small tensors.
constexpr double kWorkspace = 0.1 * kGib;
// The caching allocator's rounding and holes, as a share of what is alive and of what comes and goes within a step.
constexpr double kStaticWaste = 0.03, kTransientWaste = 0.12, kBlockWaste = 0.25;
// The same of what comes and goes where a compiler plans the buffers and segments may expand, as torchtitan's launcher
// has it (published reserved over allocated: 1.05 - 1.1).
constexpr double kPlannedWaste = 0.08;
// What remains of it after the allocator has freed its cache and tried again.
constexpr double kTightWaste = 0.03;
// Bytes at a standard loss in the newest library versions over those in the versions that published runs used: 8 of 14.
constexpr double kNewestLoss = 8.0 / 14;
// Half-width of the honest range: where framework versions differ, and where offload keeps buffers of its own.
constexpr double kSpread = 0.12, kOffloadSpread = 0.35;

struct Parts {
  double weights, grads, optimizer, gathered, activations, loss, work, temp;
  double sum() const { return weights + grads + optimizer + gathered + activations + loss + work + temp; }
  // What comes and goes within a step.
  double moving() const { return gathered + activations + loss + work; }
};
struct NamedParts {
  std::string_view name;
  Parts parts;
};
using Moments = std::array<NamedParts, 5>;

const NamedParts& peak_of(const Moments& moments) {
  return *std::max_element(moments.begin(), moments.end(),
                           [](const NamedParts& a, const NamedParts& b) { return a.parts.sum() < b.parts.sum(); });
}

void set_peak(const Moments& moments, MemoryPlan& plan) {
  const auto& [name, parts] = peak_of(moments);
  plan.allocated = parts.sum();
  plan.peak_moment = name;
  plan.components = {{"weights", parts.weights},         {"gradients", parts.grads},
                     {"optimizer", parts.optimizer},     {"gathered_parameters", parts.gathered},
                     {"activations", parts.activations}, {"logits_and_loss", parts.loss},
                     {"layer_work", parts.work},         {"temporary", parts.temp}};
  plan.moments.reserve(moments.size());
  for (const auto& moment : moments) plan.moments.push_back({moment.name, moment.parts.sum()});
}

// Micro-batches whose activations are alive at once, in units of the rank's micro_batch: on the first pipeline rank,
// and on the last, which has the logits. Interleaved pipelines keep about as many on both.
struct InFlight {
  double first = 1, last = 1;
};
InFlight in_flight(const Setting& s) {
  if (s.pp <= 1) return {};
  const double chunks = s.grad_accum > 1 ? s.grad_accum : s.micro_batch;
  const double one = s.grad_accum > 1 ? 1 : 1 / s.micro_batch;
  const double first = std::min(s.pp, chunks) * one;
  return {first, s.tuned ? first : one};
}

void move_to_host(const Setting& s, const Machine& m, States& states, MemoryPlan& plan) {
  if (!s.offload) return;
  plan.host = (states.weights + states.grads + states.optimizer) * m.gpus_per_node;
  states.weights = states.grads = states.optimizer = states.step_temp = 0;
}

// Logits in 2 bytes and their fp32 copies: large blocks are freed and asked for again in the other size. The other
// losses, and a head in fp32, keep to one.
double transient_waste(const Setting& s) {
  if (s.compile && (s.sharding == Sharding::kFsdp2 || s.sharding == Sharding::kHsdp)) return kPlannedWaste;
  const bool large_blocks = s.loss == Loss::kStandard || s.loss == Loss::kFused;
  return large_blocks && !s.compile && !widens_rest(s) ? kBlockWaste : kTransientWaste;
}

// What the allocator holds: the blocks of forward and backward stay cached and are not reused by the optimizer's step,
// so its pool is on top of what the step keeps.
double reserved_bytes(const Moments& moments, const Setting& s, const MemoryPlan& plan) {
  double pool = 0, step = 0;
  for (const auto& [name, parts] : moments) {
    if (name == "optimizer_step") step = parts.sum();
    pool = std::max(pool, parts.moving());
  }
  return std::max(plan.allocated * (1 + kStaticWaste), step * (1 + kStaticWaste) + pool * (1 + transient_waste(s)));
}

// The peak under the newest versions of the libraries, which drop the logits before backward and free weights that the
// graph kept: bytes.
double with_newest_versions(Moments moments, const Setting& s, double graph_weights, double spared) {
  for (auto& [name, parts] : moments) {
    parts.work = std::max(0.0, parts.work - spared);
    // Unsloth, whose loss is a fused kernel, keeps checkpoints on the host.
    if (s.loss == Loss::kFused && s.checkpointing == Checkpointing::kFull && is_lora(s)) parts.activations = 0;
    if (s.loss == Loss::kStandard) parts.loss *= kNewestLoss;
    parts.gathered = std::max(0.0, parts.gathered - graph_weights);
  }
  return peak_of(moments).parts.sum();
}

// Buffers of the groups that a rank belongs to: one a way in which ranks share the work.
double communicator_bytes(const Setting& s, const Machine& m) {
  if (m.world() <= 1) return 0;
  const double data = shards_of(s, m).data_parallel;
  const double groups = (data > 1) + (s.tp > 1) + (s.pp > 1) + (s.cp > 1) + (s.ep > 1);
  const double bytes = kNccl + std::max(0.0, groups - 1) * kCommunicator;
  return m.gpu.link == Link::kNvlink ? bytes : kFewChannels * bytes;
}

void set_outside(const Setting& s, const Machine& m, const Moments& moments, MemoryPlan& plan) {
  const double transient = peak_of(moments).parts.moving();
  const double communicators = communicator_bytes(s, m), outside = kContext + communicators;
  const double room = m.gpu.memory_gib * kGib;
  const double floor = plan.allocated - transient;
  plan.needed = floor * (1 + kStaticWaste) + transient * (1 + kTightWaste) + communicators + kLeastContext;
  const bool host_fits = m.host_memory_gib <= 0 || plan.host <= m.host_memory_gib * kGib;
  plan.fits = plan.needed <= room && host_fits;
  const bool large_logits = (s.loss == Loss::kStandard || s.loss == Loss::kFused) && !s.tuned;
  plan.varied = large_logits ? (longest_so_far(s) - 1) * moments.front().parts.loss : 0;
  plan.reserved = reserved_bytes(moments, s, plan) + (s.example > 0 ? plan.varied : 0);
  // A full GPU makes the allocator give its cache back and try again.
  const double least = plan.needed - communicators - kLeastContext;
  if (plan.fits) plan.reserved = std::min(plan.reserved, std::max(least, room - outside));
  plan.nvidia_smi = plan.reserved + outside;
  const double spread = s.offload ? kOffloadSpread : kSpread;
  plan.low = with_newest_versions(moments, s, plan.graph_weights, plan.spared) * (1 - spread);
  plan.high = (plan.nvidia_smi + (s.example > 0 ? 0 : plan.varied)) * (1 + spread);
}

}  // namespace

MemoryPlan plan_memory(const ModelShape& shape, const ParamCount& count, const Setting& s, const Machine& machine) {
  if (machine.cpu) return plan_engine_memory(shape, count, s, machine);
  const RankModel model = rank_model(shape, count, s);
  States st = count_states(model, s, machine);
  MemoryPlan plan;
  move_to_host(s, machine, st, plan);
  plan.graph_weights = st.graph_weights;
  const LayerActivations layer = layer_activations(shape, s);
  const KeptActivations kept = kept_activations(model, layer, s);
  const double tokens = s.tokens();
  const double micro = s.pp > 1 && s.grad_accum <= 1 ? 1 : s.micro_batch;  // sequences of one pipeline micro-batch
  const double work_tokens = s.pp > 1 ? micro * s.seq / s.cp : tokens;
  const InFlight live = in_flight(s);
  const double acts = kept.kept * tokens * live.first, last_acts = kept.kept * tokens * live.last;
  const double work = kept.work * work_tokens;
  if (s.checkpointing != Checkpointing::kNone) plan.spared = layer.spared * work_tokens;
  const double loss = logits_bytes(shape, s) * shape.vocab / s.tp * work_tokens;
  const double held_grads = (s.grad_accum > 1 ? st.grads : 0) + st.whole_grads + st.buckets;
  const double all_grads = st.grads + st.whole_grads + st.buckets;
  const double gathered = st.gathered + st.kept_gathered;
  const double temp = st.quant_temp + kWorkspace;
  const Moments moments = {{
      {"loss", {st.weights, held_grads, st.optimizer, gathered, last_acts, loss, 0, temp}},
      {"backward_start", {st.weights, held_grads, st.optimizer, gathered, acts, 0, work, temp + st.unit_grad}},
      {"backward_end", {st.weights, all_grads, st.optimizer, st.gathered, 0, 0, work, temp + st.unit_grad}},
      {"root_reduction", {st.weights, all_grads, st.optimizer, st.gathered, 0, 0, 0, temp + st.root_reduce}},
      {"optimizer_step", {st.weights, st.grads + st.buckets, st.optimizer, 0, 0, 0, 0, st.step_temp + kWorkspace}},
  }};
  set_peak(moments, plan);
  set_outside(s, machine, moments, plan);
  if (assumes_narrow_gradients(s) && !is_lora(s)) plan.high += st.grads * (4 / s.reduce_bytes - 1);
  return plan;
}

}  // namespace fx::knowledge::plan
