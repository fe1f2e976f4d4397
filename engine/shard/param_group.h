// One communication group: the parameters of one stage, sharded over all ranks, gathered together before they are used
// and freed after it. States: sharded -> (start_unshard) gathering -> (wait_unshard) full -> (reshard) sharded.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/shard/layout.h"

namespace fx::engine {

struct MixedPrecision {
  at::ScalarType param_dtype = at::kBFloat16;  // all-gather and compute
  at::ScalarType reduce_dtype = at::kFloat;    // gradient reduce-scatter
};

class ParamGroup {
 public:
  ParamGroup(std::string name, const std::vector<ParamDef>& params, MixedPrecision precision, Collectives& comm);
  ParamGroup(const ParamGroup&) = delete;
  ParamGroup& operator=(const ParamGroup&) = delete;

  const std::string& name() const { return name_; }
  const GroupLayout& layout() const { return layout_; }
  // fp32 master weights of this rank, flat [shard_numel]; padding is zero and stays so.
  at::Tensor& master() { return master_; }
  // This rank's rows of a parameter: a view of master() or of any flat tensor laid out alike, [rows, row_size].
  at::Tensor rows_view(const at::Tensor& flat, std::size_t param) const;
  // fp32 gradient shard, flat; undefined before the first reduction of a step.
  at::Tensor& grad() { return grad_; }
  void zero_grad() { grad_ = at::Tensor(); }

  // Idempotent: a group that is gathering or full stays so.
  void start_unshard();
  void wait_unshard();
  bool is_full() const { return full_; }
  // Frees the full parameters. The tensors of params() stay valid objects and are refilled by the next unshard.
  void reshard();
  // Full parameters in layout order, leaves that collect gradients. Valid while full.
  const std::vector<at::Tensor>& params() const { return params_; }

  // Takes the leaves' gradients (missing ones count as zero), starts their reduce-scatter and drops them.
  void start_reduce();
  // Adds the reduced shard to grad().
  void wait_reduce();

 private:
  void copy_out();
  at::Tensor take_gradients();

  std::string name_;
  GroupLayout layout_;
  MixedPrecision precision_;
  Collectives& comm_;
  at::Tensor master_;
  at::Tensor grad_;
  at::Tensor full_buffer_;          // persistent object; its storage is resized to 0 and back
  std::vector<at::Tensor> params_;  // views of it with version counters of their own
  bool full_ = false;
  at::Tensor gather_in_, gather_out_, reduce_in_, reduce_out_;
  Pending gather_, reduce_;
};

}  // namespace fx::engine
