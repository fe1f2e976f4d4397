#include "engine/shard/param_group.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <utility>

namespace fx::engine {

ParamGroup::ParamGroup(std::string name, const std::vector<ParamDef>& params, MixedPrecision precision,
                       Collectives& comm)
    : name_(std::move(name)), layout_(make_layout(params, comm.size())), precision_(precision), comm_(comm) {
  master_ = at::zeros({layout_.shard_numel}, at::kFloat);
  full_buffer_ = at::empty({layout_.full_numel}, precision_.param_dtype);
  for (const auto& param : layout_.params) {
    at::Tensor view = full_buffer_.narrow(0, param.full_offset, param.numel()).view(param.def.shape);
    // A tensor of its own version counter on the same storage: refilling the buffer is no change that autograd sees.
    at::Tensor leaf = view.variable_data();
    leaf.set_requires_grad(param.def.trainable);
    params_.push_back(std::move(leaf));
  }
  at::native::resize_bytes_nocuda(full_buffer_.storage(), 0);
}

at::Tensor ParamGroup::rows_view(const at::Tensor& flat, std::size_t index) const {
  const ParamLayout& param = layout_.params[index];
  const RowRange rows = rows_of(param.def.shape[0], comm_.rank(), layout_.size);
  return flat.narrow(0, param.shard_offset, rows.count() * param.row_size).view({rows.count(), param.row_size});
}

void ParamGroup::start_unshard() {
  if (full_ || gather_.active()) return;
  gather_out_ = at::empty({layout_.full_numel}, precision_.param_dtype);
  // The rank's own slice of the output is the input, cast in place.
  gather_in_ = gather_out_.narrow(0, comm_.rank() * layout_.shard_numel, layout_.shard_numel);
  gather_in_.copy_(master_);
  gather_ = comm_.all_gather(name_, gather_out_, gather_in_);
}

void ParamGroup::wait_unshard() {
  if (full_) return;
  start_unshard();
  gather_.wait();
  copy_out();
  gather_in_ = gather_out_ = at::Tensor();
  full_ = true;
}

void ParamGroup::copy_out() {
  const auto bytes = static_cast<std::size_t>(layout_.full_numel) * full_buffer_.element_size();
  at::native::resize_bytes_nocuda(full_buffer_.storage(), static_cast<std::int64_t>(bytes));
  const at::Tensor gathered = gather_out_.view({layout_.size, layout_.shard_numel});
  for (const auto& param : layout_.params) {
    full_buffer_.narrow(0, param.full_offset, layout_.size * param.padded)
        .view({layout_.size, param.padded})
        .copy_(gathered.narrow(1, param.shard_offset, param.padded));
  }
}

void ParamGroup::reshard() {
  if (!full_) return;
  at::native::resize_bytes_nocuda(full_buffer_.storage(), 0);
  full_ = false;
}

// [size, shard_numel] in the reduce dtype: row r holds what rank r owns, zero behind the last row of a parameter.
at::Tensor ParamGroup::take_gradients() {
  at::Tensor out = at::empty({layout_.size, layout_.shard_numel}, precision_.reduce_dtype);
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const ParamLayout& param = layout_.params[i];
    at::Tensor columns = out.narrow(1, param.shard_offset, param.padded);
    at::Tensor grad = params_[i].grad();
    params_[i].mutable_grad() = at::Tensor();
    if (!grad.defined()) {
      columns.zero_();
      continue;
    }
    grad = grad.contiguous().view({-1});
    for (int rank = 0; rank < layout_.size; ++rank) {
      const RowRange rows = rows_of(param.def.shape[0], rank, layout_.size);
      const std::int64_t count = rows.count() * param.row_size;
      at::Tensor target = columns.select(0, rank);
      target.narrow(0, 0, count).copy_(grad.narrow(0, rows.begin * param.row_size, count));
      if (count < param.padded) target.narrow(0, count, param.padded - count).zero_();
    }
  }
  return out;
}

void ParamGroup::start_reduce() {
  wait_reduce();
  reduce_in_ = take_gradients().view({-1});
  reduce_out_ = at::empty({layout_.shard_numel}, precision_.reduce_dtype);
  reduce_ = comm_.reduce_scatter(name_, reduce_out_, reduce_in_);
}

void ParamGroup::wait_reduce() {
  if (!reduce_.active()) return;
  reduce_.wait();
  at::Tensor reduced = reduce_out_.to(at::kFloat);
  if (grad_.defined()) {
    grad_.add_(reduced);
  } else {
    grad_ = std::move(reduced);
  }
  reduce_in_ = reduce_out_ = at::Tensor();
}

}  // namespace fx::engine
