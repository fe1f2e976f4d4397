// One communication group: the parameters of one stage, sharded over the ranks of one copy, gathered together before
// they are used and freed after it. States: sharded -> (start_unshard) gathering -> (wait_unshard) full -> (reshard)
// sharded; or full -> (keep_slice) sliced, from which the next gather is among fewer ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/comm/mesh.h"
#include "engine/shard/layout.h"

namespace fx::engine {

struct MixedPrecision {
  at::ScalarType param_dtype = at::kBFloat16;  // all-gather and compute: bf16 or fp32
  at::ScalarType reduce_dtype = at::kFloat;    // gradient reduce-scatter: fp32, bf16 or fp16
  bool norms_fp32 = false;                     // gather and compute the weights of norms in fp32
  // Gradients are summed over ranks and divided by this: 1 when the loss is scaled by the global token count already.
  double divide_gradients_by = 1;
};

// How much of a micro-batch's gradients is communicated.
enum class GradientSync {
  kFull,           // reduce-scatter; with replicas also all-reduce
  kReduceScatter,  // replicas keep their own partial shards until a kFull
  kNone,           // full-size gradients of this rank wait in memory until a kReduceScatter or kFull
};

class ParamGroup {
 public:
  // offload: master weights and gradients lie in pinned host memory instead of on the mesh's device.
  ParamGroup(std::string name, const std::vector<ParamDef>& params, MixedPrecision precision, Mesh& mesh,
             bool offload = false);
  ParamGroup(const ParamGroup&) = delete;
  ParamGroup& operator=(const ParamGroup&) = delete;

  const std::string& name() const { return name_; }
  // Over the ranks of one copy, of which this one is rank().
  const GroupLayout& layout() const { return layout_; }
  int rank() const { return mesh_.shard().rank(); }
  // fp32 master weights of this rank, flat [layout().shard_numel]; padding is zero and stays so. Undefined in a group
  // where nothing is trained: its only copy is in the dtype of the all-gather.
  at::Tensor& master() { return master_; }
  // This rank's rows of one parameter where they are kept: a view [rows, row_size] of the master weights, or of that
  // copy.
  at::Tensor weight_rows(std::size_t param) const;
  // The trainable parameters alone: the layout of gradients and optimizer states.
  const GroupLayout& grad_layout() const { return grad_layout_; }
  // For each of them, its index in layout().
  const std::vector<std::size_t>& trainable() const { return trainable_; }
  // fp32 gradient shard, flat [grad_layout().shard_numel]; undefined before the first reduction of a step.
  at::Tensor& grad() { return grad_; }
  void zero_grad() { grad_ = at::Tensor(); }
  // This rank's rows of one parameter: a view [rows, row_size] of a flat tensor laid out as layout says.
  at::Tensor rows_view(const at::Tensor& flat, const GroupLayout& layout, std::size_t param) const;

  // Idempotent: a group that is gathering or full stays so.
  void start_unshard();
  void wait_unshard();
  bool is_full() const { return full_; }
  // Frees the full parameters. The tensors of params() stay valid objects and are refilled by the next unshard.
  void reshard();
  // Frees them but for a slice that mesh.slice()'s ranks hold between them; without such a group: reshard().
  void keep_slice();
  // Full parameters in layout order, leaves that collect gradients. Valid while full.
  const std::vector<at::Tensor>& params() const { return params_; }

  // Takes the leaves' gradients (missing ones count as zero) and starts their reduction, or keeps them with kNone. A
  // group without trainable parameters communicates nothing.
  void start_reduce(GradientSync sync = GradientSync::kFull);
  // Adds the reduced shard to grad().
  void wait_reduce();

 private:
  at::TensorOptions options(at::ScalarType dtype) const;
  at::ScalarType dtype_of(const ParamDef& def) const;
  std::int64_t place(GroupLayout& layout) const;
  void make_params();
  void fill_input(const at::Tensor& input) const;
  void copy_out();
  void hold_gradients();
  at::Tensor take_gradients();

  std::string name_;
  MixedPrecision precision_;
  Mesh& mesh_;
  GroupLayout layout_, slice_layout_, grad_layout_;
  std::vector<std::size_t> trainable_;
  // Buffers hold elements of one dtype, or bytes when parameters are gathered in two.
  at::ScalarType wire_dtype_;
  std::int64_t shard_wire_ = 0, slice_wire_ = 0;  // elements of the wire dtype that a rank sends
  at::Tensor master_;
  at::Tensor frozen_;  // instead of it, when nothing is trained: what this rank sends, [shard_wire_]
  at::Tensor grad_;
  at::Tensor full_buffer_;          // persistent object; its storage is resized to 0 and back
  std::vector<at::Tensor> params_;  // views of it with version counters of their own
  std::vector<at::Tensor> held_;    // full gradients that wait for a synchronised micro-batch, in trainable order
  at::Tensor partial_;              // fp32 shard, not yet summed over replicas
  at::Tensor slice_;                // of the full parameters, in the wire dtype
  bool full_ = false;
  GradientSync sync_ = GradientSync::kFull;
  at::Tensor gather_in_, gather_out_, reduce_in_, reduce_out_;
  Pending gather_, reduce_;
};

}  // namespace fx::engine
