#include "engine/shard/param_group.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <string_view>
#include <utility>

#include "engine/memory/storage.h"

namespace fx::engine {
namespace {

// From pinned host memory; the optimizer changes it only after this step's gradients have come back.
constexpr bool kWithoutWaiting = true;

bool is_norm(const ParamDef& def) {
  constexpr std::string_view kEnding = "norm.weight";
  return def.name.size() >= kEnding.size() &&
         std::string_view(def.name).substr(def.name.size() - kEnding.size()) == kEnding;
}

// fp16 overflows when many gradients are added: they are divided by the power of two near sqrt(ranks) before, and
// multiplied by it again in fp32 (FSDP2's rule).
double divide_before_sum(at::ScalarType reduce_dtype, int ranks) {
  int factor = 1;
  if (reduce_dtype == at::kHalf) {
    while (ranks % factor == 0 && ranks / factor > factor) factor *= 2;
  }
  return factor;
}

// Cuts a flat gradient into the ranks' parts: row r of out [size, padded] is rank r's, zero behind the last value.
void spread_rows(const at::Tensor& grad, std::int64_t padded, const at::Tensor& out) {
  const std::int64_t whole = grad.numel() / padded, rest = grad.numel() % padded;
  out.narrow(0, 0, whole).copy_(grad.narrow(0, 0, whole * padded).view({whole, padded}));
  if (whole == out.size(0)) return;
  out.narrow(0, whole, out.size(0) - whole).zero_();
  out.select(0, whole).narrow(0, 0, rest).copy_(grad.narrow(0, whole * padded, rest));
}

}  // namespace

ParamGroup::ParamGroup(std::string name, const std::vector<ParamDef>& params, MixedPrecision precision, Mesh& mesh,
                       bool offload)
    : name_(std::move(name)),
      precision_(precision),
      mesh_(mesh),
      layout_(make_layout(params, mesh.shard().size())),
      wire_dtype_(precision.param_dtype) {
  std::vector<ParamDef> trainable;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (dtype_of(params[i]) != precision_.param_dtype) wire_dtype_ = at::kByte;
    if (!params[i].trainable) continue;
    trainable.push_back(params[i]);
    trainable_.push_back(i);
  }
  grad_layout_ = make_layout(trainable, layout_.size);
  shard_wire_ = place(layout_);
  if (mesh.slice() != nullptr) {
    slice_layout_ = make_layout(params, mesh.slice()->size());
    slice_wire_ = place(slice_layout_);
  }
  const auto kept = [&](std::int64_t numel, at::ScalarType dtype) {
    return at::zeros({numel}, offload ? at::TensorOptions().dtype(dtype).pinned_memory(true) : options(dtype));
  };
  if (trainable_.empty()) {
    frozen_ = kept(shard_wire_, wire_dtype_);
  } else {
    master_ = kept(layout_.shard_numel, at::kFloat);
  }
  held_.resize(trainable_.size());
  make_params();
}

at::TensorOptions ParamGroup::options(at::ScalarType dtype) const {
  return at::TensorOptions().dtype(dtype).device(mesh_.device());
}

at::ScalarType ParamGroup::dtype_of(const ParamDef& def) const {
  return precision_.norms_fp32 && is_norm(def) ? at::kFloat : precision_.param_dtype;
}

// Gives each parameter its place in the wire buffers; returns the elements of the wire dtype a rank sends. Bytes begin
// with the fp32 parameters, so that all are aligned.
std::int64_t ParamGroup::place(GroupLayout& layout) const {
  for (auto& param : layout.params) {
    param.unit = wire_dtype_ == at::kByte ? static_cast<std::int64_t>(c10::elementSize(dtype_of(param.def))) : 1;
    param.wire_offset = param.shard_offset;
    param.full_wire_offset = param.full_offset;
  }
  if (wire_dtype_ != at::kByte) return layout.shard_numel;
  std::int64_t sent = 0;
  for (const bool fp32 : {true, false}) {
    for (auto& param : layout.params) {
      if ((dtype_of(param.def) == at::kFloat) != fp32) continue;
      param.wire_offset = sent;
      param.full_wire_offset = layout.size * sent;
      sent += param.padded * param.unit;
    }
  }
  constexpr std::int64_t kAlignment = 16;
  return (sent + kAlignment - 1) / kAlignment * kAlignment;
}

void ParamGroup::make_params() {
  full_buffer_ = at::empty({layout_.size * shard_wire_}, options(wire_dtype_));
  for (const auto& param : layout_.params) {
    at::Tensor view = full_buffer_.narrow(0, param.full_wire_offset, param.numel() * param.unit);
    if (wire_dtype_ == at::kByte) view = view.view(dtype_of(param.def));
    // A tensor of its own version counter on the same storage: refilling the buffer is no change that autograd sees.
    at::Tensor leaf = view.view(param.def.shape).variable_data();
    leaf.set_requires_grad(param.def.trainable);
    params_.push_back(std::move(leaf));
  }
  resize_storage(full_buffer_, 0);
}

at::Tensor ParamGroup::rows_view(const at::Tensor& flat, const GroupLayout& layout, std::size_t index) const {
  const ParamLayout& param = layout.params[index];
  const RowRange rows = rows_of(param.def.shape[0], rank(), layout.size);
  return flat.narrow(0, param.shard_offset, rows.count() * param.row_size).view({rows.count(), param.row_size});
}

at::Tensor ParamGroup::weight_rows(std::size_t index) const {
  if (master_.defined()) return rows_view(master_, layout_, index);
  const ParamLayout& param = layout_.params[index];
  const RowRange rows = rows_of(param.def.shape[0], rank(), layout_.size);
  at::Tensor part = frozen_.narrow(0, param.wire_offset, rows.count() * param.row_size * param.unit);
  if (wire_dtype_ == at::kByte) part = part.view(dtype_of(param.def));
  return part.view({rows.count(), param.row_size});
}

void ParamGroup::fill_input(const at::Tensor& input) const {
  if (frozen_.defined()) {
    input.copy_(frozen_, kWithoutWaiting);
    return;
  }
  if (wire_dtype_ != at::kByte) {
    input.copy_(master_, kWithoutWaiting);
    return;
  }
  for (const auto& param : layout_.params) {
    input.narrow(0, param.wire_offset, param.padded * param.unit)
        .view(dtype_of(param.def))
        .copy_(master_.narrow(0, param.shard_offset, param.padded), kWithoutWaiting);
  }
}

void ParamGroup::start_unshard() {
  if (full_ || gather_.active()) return;
  const bool sliced = slice_.defined();
  Collectives& comm = sliced ? *mesh_.slice() : mesh_.shard();
  const std::int64_t sent = sliced ? slice_wire_ : shard_wire_;
  gather_out_ = at::empty({comm.size() * sent}, options(wire_dtype_));
  // The rank's own slice of the output is the input, cast in place.
  gather_in_ = gather_out_.narrow(0, comm.rank() * sent, sent);
  if (sliced) {
    gather_in_.copy_(slice_);
  } else {
    fill_input(gather_in_);
  }
  gather_ = comm.all_gather(name_, gather_out_, gather_in_);
}

void ParamGroup::wait_unshard() {
  if (full_) return;
  start_unshard();
  gather_.wait();
  copy_out();
  gather_in_ = gather_out_ = slice_ = at::Tensor();
  full_ = true;
}

void ParamGroup::copy_out() {
  resize_storage(full_buffer_, layout_.size * shard_wire_ * full_buffer_.element_size());
  const GroupLayout& from = slice_.defined() ? slice_layout_ : layout_;
  const at::Tensor gathered = gather_out_.view({from.size, -1});
  for (std::size_t i = 0; i < layout_.params.size(); ++i) {
    const ParamLayout &param = layout_.params[i], &part = from.params[i];
    const std::int64_t width = part.padded * part.unit;
    if (!slice_.defined()) {
      full_buffer_.narrow(0, param.full_wire_offset, from.size * width)
          .view({from.size, width})
          .copy_(gathered.narrow(1, part.wire_offset, width));
      continue;
    }
    // The padding of slices is not that of shards: only rows are copied.
    for (int r = 0; r < from.size; ++r) {
      const RowRange rows = rows_of(param.def.shape[0], r, from.size);
      const std::int64_t row = param.row_size * param.unit;
      full_buffer_.narrow(0, param.full_wire_offset + rows.begin * row, rows.count() * row)
          .copy_(gathered.select(0, r).narrow(0, part.wire_offset, rows.count() * row));
    }
  }
}

void ParamGroup::reshard() {
  slice_ = at::Tensor();
  if (!full_) return;
  resize_storage(full_buffer_, 0);
  full_ = false;
}

void ParamGroup::keep_slice() {
  if (!full_) return;
  at::Tensor kept;
  if (mesh_.slice() != nullptr) {
    kept = at::zeros({slice_wire_}, options(wire_dtype_));
    for (std::size_t i = 0; i < layout_.params.size(); ++i) {
      const ParamLayout &param = layout_.params[i], &part = slice_layout_.params[i];
      const RowRange rows = rows_of(param.def.shape[0], mesh_.slice()->rank(), slice_layout_.size);
      const std::int64_t row = param.row_size * param.unit;
      kept.narrow(0, part.wire_offset, rows.count() * row)
          .copy_(full_buffer_.narrow(0, param.full_wire_offset + rows.begin * row, rows.count() * row));
    }
  }
  reshard();
  slice_ = std::move(kept);
}

// In fp32, whatever the compute dtype: they are the sum of several micro-batches.
void ParamGroup::hold_gradients() {
  for (std::size_t i = 0; i < trainable_.size(); ++i) {
    at::Tensor& grad = params_[trainable_[i]].mutable_grad();
    if (!grad.defined()) continue;
    held_[i] = held_[i].defined() ? held_[i].add_(grad) : grad.to(at::kFloat);
    grad = at::Tensor();
  }
}

// [size, shard_numel] in the reduce dtype: row r holds what rank r owns, zero behind the last row of a parameter.
at::Tensor ParamGroup::take_gradients() {
  const double divisor = divide_before_sum(precision_.reduce_dtype, mesh_.world().size());
  at::Tensor out = at::empty({grad_layout_.size, grad_layout_.shard_numel}, options(precision_.reduce_dtype));
  for (std::size_t i = 0; i < trainable_.size(); ++i) {
    const ParamLayout& param = grad_layout_.params[i];
    at::Tensor columns = out.narrow(1, param.shard_offset, param.padded);
    at::Tensor grad = std::exchange(params_[trainable_[i]].mutable_grad(), at::Tensor());
    if (held_[i].defined()) {
      if (grad.defined()) held_[i].add_(grad);
      grad = std::exchange(held_[i], at::Tensor());
    }
    if (!grad.defined()) {
      columns.zero_();
      continue;
    }
    grad = grad.contiguous().view({-1});
    if (divisor != 1) grad = grad.to(at::kFloat).mul(1 / divisor);
    spread_rows(grad, param.padded, columns);
  }
  return out;
}

void ParamGroup::start_reduce(GradientSync sync) {
  wait_reduce();
  if (trainable_.empty()) return;
  if (sync == GradientSync::kNone) return hold_gradients();
  sync_ = sync;
  reduce_in_ = take_gradients().view({-1});
  reduce_out_ = at::empty({grad_layout_.shard_numel}, options(precision_.reduce_dtype));
  reduce_ = mesh_.shard().reduce_scatter(name_, reduce_out_, reduce_in_);
}

void ParamGroup::wait_reduce() {
  if (!reduce_.active()) return;
  reduce_.wait();
  at::Tensor reduced = std::exchange(reduce_out_, at::Tensor());
  reduce_in_ = at::Tensor();
  if (mesh_.replicate() != nullptr) {
    if (partial_.defined()) reduced = std::exchange(partial_, at::Tensor()).add_(reduced);
    if (sync_ == GradientSync::kReduceScatter) {
      partial_ = reduced.to(at::kFloat);
      return;
    }
    reduced = reduced.to(precision_.reduce_dtype);
    mesh_.replicate()->all_reduce_sum(name_, reduced);
  }
  reduced = reduced.to(at::kFloat);
  const double scale =
      divide_before_sum(precision_.reduce_dtype, mesh_.world().size()) / precision_.divide_gradients_by;
  if (scale != 1) reduced.mul_(scale);
  reduced = reduced.to(master_.device());  // of offloaded shards; it waits, so the optimizer may use it at once
  if (grad_.defined()) {
    grad_.add_(reduced);
  } else {
    grad_ = std::move(reduced);
  }
}

}  // namespace fx::engine
