#include "knowledge/plan/comm_time.h"

#include <algorithm>
#include <cmath>

namespace fx::knowledge::plan {
namespace {

// Start-up of one collective, growing with the ring's hops inside a node and between nodes.
constexpr double kLatency = 20e-6, kHop = 1e-6;
// Share of the network figure that large collectives reach.
constexpr double kNetworkShare = 0.8;

struct Fabric {
  double link, network, nodes, per_node;  // bytes per second
};

// Seconds for a rank to take in `bytes` spread over `ranks` ranks (all-gather), or to reduce them (reduce-scatter).
double collective(double bytes, double ranks, const Fabric& f, double calls) {
  if (ranks <= 1 || bytes <= 0) return 0;
  const double nodes = std::min(f.nodes, std::max(1.0, ranks / f.per_node));
  const double inside = bytes * (ranks - 1) / ranks / f.link;
  // One copy crosses into each node; its GPUs share it over their links.
  const double between = nodes > 1 ? bytes * (nodes - 1) / nodes / f.network : 0;
  return std::max(inside, between) + calls * (kLatency + kHop * ranks);
}

Fabric fabric_of(const Machine& m, const Setting& s) {
  // Tensor-parallel neighbours take part in as many groups at once, which share the node's cards.
  return {m.gpu.link_gb_s * 1e9, m.node_gb_s * 1e9 * kNetworkShare / s.tp, m.nodes,
          std::max(1.0, m.gpus_per_node / s.tp)};
}

// The ranks that hold the same experts: one in so many, so several such groups meet in a machine and share its network.
Fabric fabric_of_experts(Fabric f, const Setting& s) {
  const double groups = std::min(s.ep, f.per_node);
  f.network /= groups, f.per_node /= groups;
  return f;
}

// Gathering, or reducing, the parameters of a rank, `width` bytes each: experts among those that share them.
double over_parameters(const RankModel& rank, const Setting& s, double width, double ranks, const Fabric& f,
                       double calls) {
  const double dense = collective(width * (rank.params() - rank.expert_params), ranks, f, calls);
  if (rank.expert_params <= 0) return dense;
  return dense + collective(width * rank.expert_params, ranks / s.ep, fabric_of_experts(f, s), calls);
}

void add_gathering(const RankModel& rank, const Setting& s, const Shards& n, const Fabric& f, CommTime& t) {
  const double frozen = is_lora(s) && s.quant != Quant::kNone ? 0.6 : s.stored_bytes();
  const double gather = frozen * rank.params();
  const double calls = rank.layers + 1;
  const double once = over_parameters(rank, s, frozen, n.weights, f, calls);
  const double trainable = is_lora(s) ? 4 * s.lora_params : s.reduce_bytes * rank.params();
  const double reduction = is_lora(s) ? collective(trainable, n.grads, f, calls)
                                      : over_parameters(rank, s, s.reduce_bytes, n.grads, f, calls);
  t.bytes += gather + trainable;
  if (s.gathered_step()) {
    t.per_step += once + reduction;
    return;
  }
  t.forward += once;
  if (s.reshard) t.backward += once, t.bytes += gather;
  t.backward += reduction;
  t.serial += once / calls + (is_lora(s) ? 0 : reduction / calls);
}

void add_tensor_parallel(const RankModel& rank, const Setting& s, const Machine& m, double tokens, CommTime& t) {
  if (s.tp <= 1) return;
  // Two gathers and two reductions a layer in forward, the same in backward, again for recomputation.
  const double passes = s.checkpointing == Checkpointing::kFull ? 3 : 2;
  const double bytes = 4 * tokens * rank.shape.hidden * s.param_bytes * (s.tp - 1) / s.tp;
  const double seconds = rank.layers * passes * bytes / (m.gpu.link_gb_s * 1e9);
  // Asynchronous tensor parallelism hides part of it; hand-tuned stacks all but the first of tp pieces.
  t.serial += s.tuned ? seconds / s.tp : s.compile ? 0.6 * seconds : seconds;
  t.bytes += rank.layers * passes * bytes;
}

// Tokens travel to their experts and back: two exchanges in forward, two in backward.
void add_expert_parallel(const RankModel& rank, const Setting& s, const Machine& m, double tokens, CommTime& t) {
  if (s.ep <= 1) return;
  const double bytes =
      tokens / s.tp * rank.shape.experts_per_token * rank.shape.hidden * s.param_bytes * (s.ep - 1) / s.ep;
  const double rate =
      s.ep * s.tp > m.fast_group() ? m.node_gb_s * 1e9 * kNetworkShare / m.gpus_per_node : m.gpu.link_gb_s * 1e9;
  t.serial += 4 * rank.layers * (bytes / rate + kLatency);
  t.bytes += 4 * rank.layers * bytes;
}

// Context parallelism: keys and values circulate in forward, with their gradients in backward; half of it hides.
void add_context_parallel(const RankModel& rank, const Setting& s, const Machine& m, double tokens, CommTime& t) {
  if (s.cp <= 1) return;
  const double bytes = 2 * tokens * rank.shape.kv_width() / s.tp * s.param_bytes * (s.cp - 1);
  const double rate =
      s.cp * s.tp > m.fast_group() ? m.node_gb_s * 1e9 * kNetworkShare / m.gpus_per_node : m.gpu.link_gb_s * 1e9;
  t.serial += 0.5 * rank.layers * 4 * bytes / rate;
  t.bytes += rank.layers * 4 * bytes;
}

// HSDP: one way of the all-reduce of `bytes` a rank between the copies. Copies inside a machine use its link; between
// machines all groups that meet in one share its network.
double across_replicas(double bytes, const Shards& n, const Setting& s, const Fabric& f, double calls) {
  const double replicas = n.data_parallel * s.cp / n.weights;
  if (replicas <= 1) return 0;
  const double groups = std::min(n.weights, f.per_node), copies_inside = f.per_node / groups;
  const double nodes = std::max(1.0, replicas / copies_inside);
  const double inside = copies_inside > 1 ? bytes * (copies_inside - 1) / copies_inside / f.link : 0;
  const double between = nodes > 1 ? bytes * groups * (nodes - 1) / nodes / f.network : 0;
  return std::max(inside, between) + calls * (kLatency + kHop * replicas);
}

}  // namespace

CommTime comm_time(const RankModel& rank, const Setting& s, const Machine& m, double tokens) {
  CommTime t;
  const Shards n = shards_of(s, m);
  const Fabric f = fabric_of(m, s);
  const double trainable =
      is_lora(s) ? 4 * s.lora_params + s.reduce_bytes * s.saved_params : s.reduce_bytes * rank.params();
  if (is_fsdp(s.sharding)) {
    add_gathering(rank, s, n, f, t);
    t.per_step += 2 * across_replicas(trainable / n.weights, n, s, f, rank.layers);
  } else if (n.data_parallel * s.cp > 1) {
    t.per_step += 2 * (is_lora(s) ? collective(trainable, n.data_parallel * s.cp, f, rank.layers)
                                  : over_parameters(rank, s, s.reduce_bytes, n.data_parallel * s.cp, f, rank.layers));
    t.bytes += 2 * trainable;
  }
  add_tensor_parallel(rank, s, m, tokens, t);
  add_expert_parallel(rank, s, m, tokens, t);
  add_context_parallel(rank, s, m, tokens, t);
  t.between_nodes = m.nodes > 1;
  return t;
}

}  // namespace fx::knowledge::plan
