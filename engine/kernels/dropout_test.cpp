#include "engine/kernels/dropout.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/kernels/adapted_product.h"

namespace fx::engine {
namespace {

constexpr std::int64_t kRows = 400, kWidth = 301;  // odd: the last element of a row has no neighbour

Dropout dropout_of(double p, std::uint64_t step = 1, std::uint64_t stream = 7, std::int64_t rows = kRows) {
  std::vector<std::uint64_t> origins(static_cast<std::size_t>(rows));
  std::iota(origins.begin(), origins.end(), std::uint64_t{0});
  return {p, dropout_rows(origins, 42, step), stream};
}

at::Tensor kept(const Dropout& dropout, at::ScalarType dtype = at::kFloat) {
  return drop(at::ones({kRows, kWidth}, dtype), dropout);
}

// Correlation of what two masks keep: near 0 for independent ones.
double correlation(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.ne(0).to(at::kDouble), y = b.ne(0).to(at::kDouble);
  return ((x - x.mean()) * (y - y.mean())).mean().item<double>() / (x.std(false) * y.std(false)).item<double>();
}

TEST(Dropout, DropsTheShareItSaysAndKeepsTheMean) {
  const double n = kRows * kWidth;
  for (const double p : {0.05, 0.1, 0.5, 0.9}) {
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      const at::Tensor y = kept(dropout_of(p), dtype).to(at::kDouble);
      const double share = y.eq(0).to(at::kDouble).mean().item<double>();
      EXPECT_NEAR(share, p, 5 * std::sqrt(p * (1 - p) / n)) << p;
      const double scale = y.max().item<double>();
      EXPECT_NEAR(scale, 1 / (1 - p), (dtype == at::kFloat ? 1e-6 : 4e-3) * scale);
      EXPECT_NEAR(y.mean().item<double>(), 1, 5 * std::sqrt(p / (1 - p) / n) + 4e-3);
      // Rows and columns alike: none is dropped much more than others.
      EXPECT_LT((y.eq(0).to(at::kDouble).mean(0) - p).abs().max().item<double>(), 6 * std::sqrt(p * (1 - p) / kRows));
      EXPECT_LT((y.eq(0).to(at::kDouble).mean(1) - p).abs().max().item<double>(), 6 * std::sqrt(p * (1 - p) / kWidth));
    }
  }
}

TEST(Dropout, StepsAdaptersRowsAndColumnsAreIndependent) {
  const double limit = 5 / std::sqrt(static_cast<double>(kRows * kWidth));
  const at::Tensor mask = kept(dropout_of(0.5));
  EXPECT_TRUE(mask.equal(kept(dropout_of(0.5))));
  EXPECT_LT(std::abs(correlation(mask, kept(dropout_of(0.5, 2)))), limit);
  EXPECT_LT(std::abs(correlation(mask, kept(dropout_of(0.5, 1, 8)))), limit);
  EXPECT_LT(std::abs(correlation(mask.narrow(0, 1, kRows - 1), mask.narrow(0, 0, kRows - 1))), 1.1 * limit);
  for (const std::int64_t distance : {1, 2}) {
    EXPECT_LT(std::abs(correlation(mask.narrow(1, distance, kWidth - distance), mask.narrow(1, 0, kWidth - distance))),
              1.1 * limit);
  }
}

TEST(Dropout, OfARowDependsOnTheRowAlone) {
  const Dropout all = dropout_of(0.3);
  Dropout some = all;
  some.rows = all.rows.narrow(0, 17, 5).clone();
  const at::Tensor x = at::randn({kRows, kWidth});
  EXPECT_TRUE(drop(x, all).narrow(0, 17, 5).equal(drop(x.narrow(0, 17, 5), some)));
  EXPECT_TRUE(drop(x, {}).is_same(x));
  EXPECT_TRUE(drop(x, {0, all.rows, 1}).is_same(x));
}

TEST(Dropout, OfAnAdaptersInputHasTheGradientsOfTheComposition) {
  at::manual_seed(5);
  const Dropout dropout = dropout_of(0.4, 1, 3, 20);
  const at::Tensor mask = drop(at::ones({20, 48}), dropout);
  std::vector<at::Tensor> ours, theirs;
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{20, 48}, {33, 48}, {6, 48}, {33, 6}}) {
    ours.push_back(at::randn(shape).set_requires_grad(true));
    theirs.push_back(ours.back().detach().clone().set_requires_grad(true));
  }
  const at::Tensor y = adapted_product(ours[0], ours[1], ours[2], ours[3], 1.5f, dropout);
  const at::Tensor low = at::linear(theirs[0] * mask, theirs[2]);
  const at::Tensor z = at::linear(theirs[0], theirs[1]) + 1.5 * at::linear(low, theirs[3]);
  EXPECT_LT((y - z).abs().max().item<double>(), 1e-4);
  const at::Tensor direction = at::randn_like(z);
  y.backward(direction), z.backward(direction);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const at::Tensor difference = ours[i].grad() - theirs[i].grad();
    EXPECT_LT((difference.norm() / theirs[i].grad().norm()).item<double>(), 1e-6) << i;
  }
}

}  // namespace
}  // namespace fx::engine
