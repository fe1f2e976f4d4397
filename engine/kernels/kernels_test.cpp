#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "engine/kernels/composed.h"
#include "engine/kernels/gated_mlp.h"
#include "engine/kernels/head_loss.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/ops.h"

namespace fx::engine {
namespace {

// Values and all input gradients of ours against a composition of LibTorch's own operations.
void expect_same(const std::function<at::Tensor(const std::vector<at::Tensor>&)>& ours,
                 const std::function<at::Tensor(const std::vector<at::Tensor>&)>& reference,
                 std::vector<at::Tensor> inputs, double tolerance) {
  std::vector<at::Tensor> copies;
  for (auto& input : inputs) {
    input.set_requires_grad(true);
    copies.push_back(input.detach().clone().set_requires_grad(true));
  }
  const at::Tensor y = ours(inputs), z = reference(copies);
  EXPECT_TRUE(at::allclose(y, z, tolerance, tolerance)) << (y - z).abs().max().item<double>();
  const at::Tensor direction = at::randn_like(y);
  y.backward(direction);
  z.backward(direction);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(at::allclose(inputs[i].grad(), copies[i].grad(), tolerance, tolerance))
        << "input " << i << ": " << (inputs[i].grad() - copies[i].grad()).abs().max().item<double>();
  }
}

at::Tensor reference_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const std::vector<std::int64_t>& starts, std::int64_t heads, std::int64_t kv) {
  const std::int64_t dim = q.size(1) / heads;
  std::vector<at::Tensor> outs;
  for (std::size_t d = 0; d + 1 < starts.size(); ++d) {
    const std::int64_t n = starts[d + 1] - starts[d];
    const auto part = [&](const at::Tensor& x, std::int64_t h) {
      return x.narrow(0, starts[d], n).view({n, h, dim}).transpose(0, 1).repeat_interleave(heads / h, 0);
    };
    at::Tensor scores = at::matmul(part(q, heads), part(k, kv).transpose(1, 2)) / std::sqrt(static_cast<double>(dim));
    scores = scores.masked_fill(at::ones({n, n}, at::kBool).triu(1), -1e30);
    outs.push_back(at::matmul(at::softmax(scores, -1), part(v, kv)).transpose(0, 1).reshape({n, heads * dim}));
  }
  return at::cat(outs);
}

TEST(RmsNorm, EqualsItsDefinition) {
  at::manual_seed(1);
  expect_same([](const auto& in) { return rms_norm(in[0], in[1], 1e-5); },
              [](const auto& in) { return in[0] * at::rsqrt(in[0].pow(2).mean(-1, true) + 1e-5) * in[1]; },
              {at::randn({70, 48}), at::randn({48})}, 1e-5);
}

TEST(SwiGlu, EqualsItsDefinition) {
  at::manual_seed(2);
  expect_same([](const auto& in) { return swiglu(in[0], in[1]); },
              [](const auto& in) { return at::silu(in[0]) * in[1]; }, {at::randn({9, 33}) * 4, at::randn({9, 33})},
              1e-5);
}

TEST(Product, EqualsLinearWhicheverWayItIsMultiplied) {
  at::manual_seed(3);
  const auto reference = [](const auto& in) { return at::linear(in[0], in[1]); };
  const auto ours = [](const auto& in) { return product(in[0], in[1]); };
  expect_same(ours, reference, {at::randn({70, 48}), at::randn({33, 48})}, 1e-5);
  expect_same(ours, reference, {at::randn({70, 48}).to(at::kBFloat16), at::randn({33, 48}).to(at::kBFloat16)}, 0.02);
}

TEST(ThreeProducts, EqualThreeLinearLayersOfOneInput) {
  at::manual_seed(3);
  const auto ours = [](const auto& in) {
    const auto [a, b, c] = three_products(in[0], in[1], in[2], in[3]);
    return at::cat({a, b, c}, 1);
  };
  const auto reference = [](const auto& in) {
    return at::cat({at::linear(in[0], in[1]), at::linear(in[0], in[2]), at::linear(in[0], in[3])}, 1);
  };
  std::vector<at::Tensor> inputs = {at::randn({70, 48}), at::randn({33, 48}), at::randn({16, 48}), at::randn({5, 48})};
  expect_same(ours, reference, inputs, 1e-4);
  for (auto& input : inputs) input = input.detach().to(at::kBFloat16);
  expect_same(ours, reference, inputs, 0.1);
}

at::Tensor reference_mlp(const std::vector<at::Tensor>& in) {
  return at::linear(at::silu(at::linear(in[0], in[1])) * at::linear(in[0], in[2]), in[3]);
}

std::vector<at::Tensor> mlp_inputs() {
  return {at::randn({70, 24}), at::randn({33, 24}) * 0.3, at::randn({33, 24}) * 0.3, at::randn({24, 33}) * 0.3};
}

TEST(GatedMlp, EqualsItsComposition) {
  at::manual_seed(3);
  const auto ours = [](const auto& in) { return gated_mlp(in[0], in[1], in[2], in[3]); };
  std::vector<at::Tensor> inputs = mlp_inputs();
  expect_same(ours, reference_mlp, inputs, 1e-4);
  for (auto& input : inputs) input = input.detach().to(at::kBFloat16);
  expect_same(ours, reference_mlp, inputs, 0.1);
}

TEST(GatedMlp, FrozenWeightsGetNoGradientAndPassTheInputsOn) {
  at::manual_seed(3);
  std::vector<at::Tensor> inputs = mlp_inputs(), copies = mlp_inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) copies[i] = inputs[i].clone();
  inputs[0].set_requires_grad(true), copies[0].set_requires_grad(true);
  gated_mlp(inputs[0], inputs[1], inputs[2], inputs[3]).sum().backward();
  reference_mlp(copies).sum().backward();
  EXPECT_TRUE(at::allclose(inputs[0].grad(), copies[0].grad(), 1e-4, 1e-4));
  for (std::size_t i = 1; i < inputs.size(); ++i) EXPECT_FALSE(inputs[i].grad().defined());
}

TEST(HeadLoss, Bf16HeadIsMultipliedInPanelsOfAllClasses) {
  at::manual_seed(4);
  const std::int64_t tokens = 40, hidden = 16, classes = 9000;
  const at::Tensor labels = at::randint(classes, {tokens}, at::kLong);
  const auto run = [&](at::ScalarType dtype) {
    at::manual_seed(5);
    at::Tensor x = at::randn({tokens, hidden}).to(dtype), norm = at::ones({hidden}, dtype),
               head = (at::randn({classes, hidden}) * 0.3).to(at::kBFloat16).to(dtype);
    norm.set_requires_grad(true);
    head.set_requires_grad(true);
    const HeadResult result = norm_head_loss(x, norm, 1e-5, head, labels, 1.0f, true);
    return std::tuple(result.loss_sum, result.grad_input.to(at::kFloat), head.grad().to(at::kFloat));
  };
  const auto [loss, dx, dhead] = run(at::kFloat);
  const auto [loss16, dx16, dhead16] = run(at::kBFloat16);
  EXPECT_NEAR(loss16, loss, 0.01 * loss);
  EXPECT_LT((dx16 - dx).norm().item<double>(), 0.03 * dx.norm().item<double>());
  EXPECT_LT((dhead16 - dhead).norm().item<double>(), 0.03 * dhead.norm().item<double>());
}

TEST(Rope, RotatesHalvesAndItsBackwardRotatesBack) {
  at::manual_seed(3);
  const at::Tensor angles = at::randn({11, 4}), cosine = angles.cos(), sine = angles.sin();
  expect_same([&](const auto& in) { return rope(in[0], cosine, sine, 3); },
              [&](const auto& in) {
                const at::Tensor x = in[0].view({11, 3, 8}), a = x.narrow(2, 0, 4), b = x.narrow(2, 4, 4);
                const at::Tensor c = cosine.unsqueeze(1), s = sine.unsqueeze(1);
                return at::cat({a * c - b * s, b * c + a * s}, 2).reshape({11, 24});
              },
              {at::randn({11, 24})}, 1e-5);
}

TEST(DocumentAttention, KeepsDocumentsApartAndSharesKeyHeads) {
  at::manual_seed(4);
  const std::vector<std::int64_t> starts = {0, 1, 300, 330};  // one of them longer than a block of queries
  expect_same([&](const auto& in) { return document_attention(in[0], in[1], in[2], starts, 4, 2); },
              [&](const auto& in) { return reference_attention(in[0], in[1], in[2], starts, 4, 2); },
              {at::randn({330, 32}), at::randn({330, 16}), at::randn({330, 16})}, 1e-4);
}

TEST(DocumentAttention, PaddingForBf16ProductsChangesNothing) {
  at::manual_seed(4);
  const std::vector<std::int64_t> starts = {0, 1, 40, 104, 330};
  const auto bf16 = [](const at::Tensor& x) { return x.to(at::kBFloat16); };
  for (const std::int64_t kv : {1, 4}) {
    for (const std::int64_t window : {0, 45}) {
      expect_same(
          [&](const auto& in) {
            return document_attention(bf16(in[0]), bf16(in[1]), bf16(in[2]), starts, 8, kv, window).to(at::kFloat);
          },
          [&](const auto& in) { return composed::document_attention(in[0], in[1], in[2], starts, 8, kv, window); },
          {at::randn({330, 64}), at::randn({330, 8 * kv}), at::randn({330, 8 * kv})}, 0.1);
    }
  }
}

TEST(DocumentAttention, ManyLengthsLeaveFewKernelsBehind) {
  const auto in_use = [] { return static_cast<std::int64_t>(mallinfo2().uordblks); };
  const auto run = [](std::int64_t length) {
    const at::Tensor x = at::ones({length, 16}, at::kBFloat16).set_requires_grad(true);
    document_attention(x, x, x, {0, length}, 2, 2).sum().backward();
  };
  run(100);
  const std::int64_t before = in_use();
  for (std::int64_t length = 33; length <= 96; ++length) run(length);
  EXPECT_LT(in_use() - before, std::int64_t{16} << 20);
}

// What CUDA devices compute, on the CPU: the same values and gradients as the fused kernels.
TEST(Composed, EqualsTheFusedKernels) {
  at::manual_seed(7);
  expect_same([](const auto& in) { return rms_norm(in[0], in[1], 1e-5); },
              [](const auto& in) { return composed::rms_norm(in[0], in[1], 1e-5); },
              {at::randn({70, 48}), at::randn({48})}, 1e-5);
  expect_same([](const auto& in) { return swiglu(in[0], in[1]); },
              [](const auto& in) { return composed::swiglu(in[0], in[1]); }, {at::randn({9, 33}), at::randn({9, 33})},
              1e-5);
  const at::Tensor angles = at::randn({11, 4}), cosine = angles.cos(), sine = angles.sin();
  expect_same([&](const auto& in) { return rope(in[0], cosine, sine, 3); },
              [&](const auto& in) { return composed::rope(in[0], cosine, sine, 3); }, {at::randn({11, 24})}, 1e-5);
  const std::vector<std::int64_t> starts = {0, 1, 30, 45};
  for (const std::int64_t window : {0, 7}) {
    expect_same([&](const auto& in) { return document_attention(in[0], in[1], in[2], starts, 4, 2, window); },
                [&](const auto& in) { return composed::document_attention(in[0], in[1], in[2], starts, 4, 2, window); },
                {at::randn({45, 32}), at::randn({45, 16}), at::randn({45, 16})}, 1e-4);
  }
}

TEST(Composed, CrossEntropyGivesLossAndGradientInPlace) {
  at::manual_seed(8);
  const at::Tensor labels = at::randint(0, 50, {60}, at::kLong);
  at::Tensor x = at::randn({60, 50}), logits = x.clone();
  x.set_requires_grad(true);
  const at::Tensor loss = at::cross_entropy_loss(x, labels, {}, at::Reduction::Sum);
  (loss * 0.25).backward();
  EXPECT_NEAR(composed::cross_entropy(logits, labels, 0.25f, true), loss.item<double>(), 1e-3);
  EXPECT_TRUE(at::allclose(logits, x.grad(), 1e-4, 1e-6));
}

TEST(HeadLoss, EqualsCrossEntropyOverValidLabels) {
  at::manual_seed(5);
  const at::Tensor labels = at::randint(0, 50, {600}, at::kLong);
  labels.narrow(0, 100, 300).fill_(-100);
  const at::Tensor x = at::randn({600, 16}), norm = at::rand({16}), head = at::randn({50, 16});
  at::Tensor n1 = norm.clone().set_requires_grad(true), h1 = head.clone().set_requires_grad(true);
  const HeadResult ours = norm_head_loss(x, n1, 1e-5, h1, labels, 0.25f, true);

  at::Tensor x2 = x.clone().set_requires_grad(true), n2 = norm.clone().set_requires_grad(true),
             h2 = head.clone().set_requires_grad(true);
  const at::Tensor logits = at::linear(x2 * at::rsqrt(x2.pow(2).mean(-1, true) + 1e-5) * n2, h2);
  const at::Tensor loss = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, -100);
  (loss * 0.25).backward();
  EXPECT_NEAR(ours.loss_sum, loss.item<double>(), 1e-2);
  EXPECT_TRUE(at::allclose(ours.grad_input, x2.grad(), 1e-4, 1e-4));
  EXPECT_TRUE(at::allclose(n1.grad(), n2.grad(), 1e-4, 1e-3));
  EXPECT_TRUE(at::allclose(h1.grad(), h2.grad(), 1e-4, 1e-4));
}

TEST(Kernels, ComputeInBf16CloseToFp32) {
  at::manual_seed(6);
  const at::Tensor x = at::randn({64, 32}), w = at::rand({32});
  const at::Tensor y = rms_norm(x.to(at::kBFloat16), w.to(at::kBFloat16), 1e-5).to(at::kFloat);
  EXPECT_LT((y - rms_norm(x, w, 1e-5)).abs().max().item<double>(), 0.05);
}

}  // namespace
}  // namespace fx::engine
