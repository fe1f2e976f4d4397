#include "engine/models/llama/llama.h"

#include <ATen/ops/cos.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>

#include "engine/kernels/adapted_product.h"
#include "engine/kernels/gated_mlp.h"
#include "engine/kernels/head_loss.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/ops.h"

namespace fx::engine {
namespace {

// Groups: one a block. A tied head shares the embedding's group; an untied one has a group with the final norm.
std::vector<GroupDef> make_groups(const ModelShape& shape) {
  std::vector<GroupDef> groups(static_cast<std::size_t>(shape.layers) + 1);
  groups[0].name = "embedding";
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.layers); ++i)
    groups[i + 1].name = "layer " + std::to_string(i);
  GroupDef head{"head", {}};
  const std::string prefix = "model.layers.";
  for (const auto& param : parameters_of(shape)) {
    const ParamDef def{param.name, param.shape, true};
    if (param.name.compare(0, prefix.size(), prefix) == 0) {
      groups[static_cast<std::size_t>(std::stoll(param.name.substr(prefix.size()))) + 1].params.push_back(def);
    } else if (param.name == "model.embed_tokens.weight" || shape.tied) {
      groups[0].params.push_back(def);
    } else {
      head.params.push_back(def);
    }
  }
  if (!shape.tied) groups.push_back(std::move(head));
  return groups;
}

std::size_t find_param(const GroupDef& group, const std::string& ending) {
  for (std::size_t i = 0; i < group.params.size(); ++i) {
    const std::string& name = group.params[i].name;
    if (name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0) return i;
  }
  throw std::logic_error("no parameter " + ending + " in group " + group.name);
}

std::vector<StageDef> make_stages(const std::vector<GroupDef>& groups, const ModelShape& shape,
                                  const std::vector<std::string>& more) {
  std::vector<StageDef> stages = {{"embedding", 0, {find_param(groups[0], "embed_tokens.weight")}, {}}};
  const char* block[] = {"input_layernorm.weight", "q_proj.weight",  "k_proj.weight",
                         "v_proj.weight",          "o_proj.weight",  "post_attention_layernorm.weight",
                         "gate_proj.weight",       "up_proj.weight", "down_proj.weight"};
  for (std::size_t g = 1; g <= static_cast<std::size_t>(shape.layers); ++g) {
    StageDef stage{groups[g].name, g, {}, {}};
    for (const char* ending : block) stage.params.push_back(find_param(groups[g], ending));
    for (const auto& ending : more) stage.params.push_back(find_param(groups[g], ending));
    stages.push_back(std::move(stage));
  }
  const std::size_t group = shape.tied ? 0 : groups.size() - 1;
  const char* weight = shape.tied ? "embed_tokens.weight" : "lm_head.weight";
  stages.push_back(
      {"head", group, {find_param(groups[group], "model.norm.weight"), find_param(groups[group], weight)}, {}});
  return stages;
}

// x through the weight at a place, and through the adapter on it if there is one.
at::Tensor linear(const StageParams& p, std::size_t place, const at::Tensor& x) {
  if (p.adapters.empty() || !p.adapters[place].a.defined()) return product(x, p[place]);
  const StageParams::Adapter& adapter = p.adapters[place];
  return adapted_product(x, p[place], adapter.a, adapter.b, p.adapter_scale, adapter.dropout);
}

at::Tensor feed_forward(const StageParams& p, const at::Tensor& m) {
  if (p.adapters.empty() && !m.is_cuda()) return gated_mlp(m, p[6], p[7], p[8]);
  return linear(p, 8, swiglu(linear(p, 6, m), linear(p, 7, m)));
}

}  // namespace

Llama::Llama(const ModelShape& shape, const std::vector<std::string>& more)
    : shape_(shape), groups_(make_groups(shape)) {
  stages_ = make_stages(groups_, shape, more);
  inverse_frequencies_ = at::tensor(rope_inverse_frequencies(shape), at::kDouble).to(at::kFloat);
}

at::Tensor Llama::embed(const StageParams& params, const Batch& batch) const {
  // LibTorch's lookup does not know the meta device: one of the same sizes, forward and backward.
  if (params[0].is_meta())
    return params[0].narrow(0, 0, 1).expand({batch.tokens.size(0), params[0].size(1)}).contiguous();
  return at::embedding(params[0], batch.tokens);
}

Llama::Projections Llama::project(const StageParams& p, const at::Tensor& h) const {
  if (!p.adapters.empty()) return {linear(p, 1, h), linear(p, 2, h), linear(p, 3, h)};
  const auto [q, k, v] = three_products(h, p[1], p[2], p[3]);
  return {q, k, v};
}

at::Tensor Llama::block(const StageParams& p, const at::Tensor& x, const Batch& batch) const {
  const at::Tensor angles = at::outer(batch.positions.to(at::kFloat), inverse_frequencies_.to(x.device()));
  const at::Tensor cosine = at::cos(angles), sine = at::sin(angles);
  const at::Tensor h = rms_norm(x, p[0], shape_.rms_norm_eps);
  const Projections projected = project(p, h);
  const at::Tensor q = rope(projected.q, cosine, sine, shape_.heads);
  const at::Tensor k = rope(projected.k, cosine, sine, shape_.kv_heads);
  const at::Tensor a =
      document_attention(q, k, projected.v, batch.starts, shape_.heads, shape_.kv_heads, shape_.sliding_window);
  const at::Tensor middle = x.add(linear(p, 4, a));
  const at::Tensor m = rms_norm(middle, p[5], shape_.rms_norm_eps);
  return middle.add(feed_forward(p, m));
}

HeadResult Llama::head(const StageParams& p, const at::Tensor& x, const Batch& batch, float scale,
                       bool with_gradient) const {
  return norm_head_loss(x, p[0], shape_.rms_norm_eps, p[1], batch.labels, scale, with_gradient);
}

at::Tensor Llama::logits(const StageParams& p, const at::Tensor& x) const {
  return at::linear(rms_norm(x, p[0], shape_.rms_norm_eps), p[1]);
}

}  // namespace fx::engine
