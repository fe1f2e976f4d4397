// torchtitan's device mesh and batch arithmetic.
#include "base/text.h"
#include "knowledge/formats/torchtitan/torchtitan.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = TitanView;

bool positive_degrees(const V& view) {
  for (const char* axis : {"data_parallel_replicate", "context_parallel", "tensor_parallel", "pipeline_parallel"}) {
    if (view.size(axis) < 1) return false;
  }
  return view.size("data_parallel_shard") == -1 || view.size("data_parallel_shard") >= 1;
}

void dims_mismatch(const Input& input, Hits& hits) {
  const V view(input);
  const Node* first = view.degree("data_parallel_shard");
  for (const char* axis : {"data_parallel_replicate", "tensor_parallel", "context_parallel", "pipeline_parallel"}) {
    if (first == nullptr) first = view.degree(axis);
  }
  if (!view.world() || first == nullptr || !positive_degrees(view)) return;
  const long long rest = view.size("data_parallel_replicate") * view.size("context_parallel") *
                         view.size("tensor_parallel") * view.size("pipeline_parallel");
  const long long shard = view.size("data_parallel_shard");
  if (shard == -1 ? *view.world() % rest == 0 : rest * shard == *view.world()) return;
  hits.at(*first, shard == -1 ? "replicate x cp x tp x pp = " + std::to_string(rest) + " does not divide " +
                                    std::to_string(*view.world()) + " ranks."
                              : "shard x replicate x cp x tp x pp = " + std::to_string(rest * shard) +
                                    ", but there are " + std::to_string(*view.world()) + " ranks.");
}

void seq_len(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.get("training", "seq_len");
  const auto length = integer_of(node);
  const long long divisor = view.size("tensor_parallel") * 2 * view.size("context_parallel");
  if (!length || divisor <= 2 || *length % divisor == 0) return;
  hits.at(*node, std::to_string(*length) + " is no multiple of tp x 2 x cp = " + std::to_string(divisor) + ".",
          "seq_len = " + std::to_string((*length / divisor) * divisor) + " or another multiple of " +
              std::to_string(divisor));
}

void global_batch(const Input& input, Hits& hits) {
  const V view(input);
  const Node* node = view.get("training", "global_batch_size");
  const auto global = integer_of(node);
  const long long local = integer_of(view.get("training", "local_batch_size")).value_or(8);
  const auto shard = view.shard();
  if (!global || *global <= 0 || !shard || local <= 0 || local > 1000000 || !positive_degrees(view)) return;
  const long long step = local * *shard * view.size("data_parallel_replicate");
  if (step <= 0 || *global % step == 0) return;
  hits.at(*node,
          std::to_string(*global) + " is no multiple of local batch x data parallel = " + std::to_string(step) + ".",
          "global_batch_size = " + std::to_string((*global / step + 1) * step) + ", or -1");
}

void etp(const Input& input, Hits& hits) {
  const V view(input);
  const long long expert_tp = view.size("expert_tensor_parallel");
  if (view.size("expert_parallel") > 1 && expert_tp != 1 && expert_tp != view.size("tensor_parallel"))
    hits.at(*view.degree("expert_parallel"));
}

void ep_dividing(const Input& input, Hits& hits) {
  const V view(input);
  const long long expert = view.size("expert_parallel");
  const auto shard = view.shard();
  if (expert <= 1 || !shard || !positive_degrees(view)) return;
  const long long product = *shard * view.size("context_parallel") * view.size("tensor_parallel");
  if (product % expert != 0) {
    hits.at(*view.degree("expert_parallel"),
            "shard x cp x tp = " + std::to_string(product) + " is no multiple of " + std::to_string(expert) + ".");
  }
}

void ddp_1d(const Input& input, Hits& hits) {
  const V view(input);
  const bool more = view.size("tensor_parallel") > 1 || view.size("pipeline_parallel") > 1;
  const auto shard = view.shard();
  if (view.size("data_parallel_replicate") > 1 && shard && *shard == 1 && view.size("context_parallel") == 1 && more) {
    hits.at(*view.degree("data_parallel_replicate"));
  }
}

}  // namespace

Rules torchtitan_mesh_rules() {
  return {
      {"torchtitan-parallel-dims-mismatch", Severity::kError, kTorchtitanToml | kTorchtitanCli, dims_mismatch},
      {"torchtitan-seq-len-divisor", Severity::kError, kTorchtitanToml | kTorchtitanCli, seq_len},
      {"torchtitan-global-batch-divisible", Severity::kError, kTorchtitanToml | kTorchtitanCli, global_batch},
      {"torchtitan-etp-invalid", Severity::kError, kTorchtitanToml | kTorchtitanCli, etp},
      {"torchtitan-ep-not-dividing", Severity::kError, kTorchtitanToml | kTorchtitanCli, ep_dividing},
      {"torchtitan-ddp-only-1d", Severity::kError, kTorchtitanToml | kTorchtitanCli, ddp_1d},
  };
}

}  // namespace fx::knowledge
