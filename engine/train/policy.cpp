#include "engine/train/policy.h"

namespace fx::engine {
namespace {

int recompute_every(ActivationCheckpointing mode) {
  switch (mode) {
    case ActivationCheckpointing::kSelective:
      return 2;
    case ActivationCheckpointing::kFull:
      return 1;
    case ActivationCheckpointing::kNone:
      break;
  }
  return 0;
}

}  // namespace

at::ScalarType scalar_type(const std::string& dtype) {
  return dtype == "bf16" ? at::kBFloat16 : dtype == "fp16" ? at::kHalf : at::kFloat;
}

StepPolicy policy_of(const FsdpSpec& fsdp) {
  StepPolicy policy;
  policy.precision.param_dtype = scalar_type(fsdp.param_dtype);
  policy.precision.reduce_dtype = scalar_type(fsdp.reduce_dtype);
  policy.precision.norms_fp32 = fsdp.norms_fp32;
  policy.reshard_after_forward = fsdp.reshard_after_forward.free_after_forward;
  policy.keep_slice_ranks = static_cast<int>(fsdp.reshard_after_forward.group_size);
  policy.replicate = static_cast<int>(fsdp.replicate);
  policy.recompute_every = recompute_every(fsdp.activation_checkpointing);
  policy.cpu_offload = fsdp.cpu_offload;
  policy.reshard_after_backward = fsdp.reshard_after_backward;
  policy.forward_prefetch = static_cast<std::size_t>(fsdp.forward_prefetch);
  policy.backward_prefetch = static_cast<std::size_t>(fsdp.backward_prefetch);
  return policy;
}

}  // namespace fx::engine
