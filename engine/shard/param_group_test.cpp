#include "engine/shard/param_group.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/comm/local.h"

namespace fx::engine {
namespace {

const std::vector<ParamDef> kParams = {
    {"a.weight", {5, 3}, true}, {"norm.weight", {7}, true}, {"c.weight", {2, 2}, false}};

at::Tensor whole(std::size_t index) {
  const auto& shape = kParams[index].shape;
  std::int64_t numel = 1;
  for (const auto size : shape) numel *= size;
  return (at::arange(numel, at::kFloat) + 100 * static_cast<double>(index)).view(shape);
}

void fill(ParamGroup& group) {
  for (std::size_t i = 0; i < kParams.size(); ++i) {
    const RowRange rows = rows_of(kParams[i].shape[0], group.rank(), group.layout().size);
    group.rows_view(group.master(), group.layout(), i)
        .copy_(whole(i).view({kParams[i].shape[0], -1}).narrow(0, rows.begin, rows.count()));
  }
}

void expect_full(const ParamGroup& group) {
  for (std::size_t i = 0; i < kParams.size(); ++i) EXPECT_TRUE(group.params()[i].to(at::kFloat).equal(whole(i))) << i;
}

MixedPrecision fp32() {
  MixedPrecision precision;
  precision.param_dtype = at::kFloat;
  return precision;
}

TEST(ParamGroup, UnshardAndReshardAreIdempotent) {
  for (const int ranks : {1, 2, 3, 4}) {
    run_local_ranks(ranks, [](Collectives& comm) {
      Mesh mesh(comm);
      ParamGroup group("g", kParams, fp32(), mesh);
      fill(group);
      group.reshard();
      for (int round = 0; round < 2; ++round) {
        group.start_unshard();
        group.start_unshard();
        EXPECT_FALSE(group.is_full());
        group.wait_unshard();
        group.wait_unshard();
        group.start_unshard();
        EXPECT_TRUE(group.is_full());
        expect_full(group);
        group.reshard();
        group.reshard();
        EXPECT_FALSE(group.is_full());
      }
      EXPECT_EQ(comm.stats().calls, 2);
    });
  }
}

TEST(ParamGroup, GathersFromASliceWhatItKept) {
  run_local_ranks(4, [](Collectives& comm) {
    Mesh mesh(comm, 1, 2);
    for (const bool mixed : {false, true}) {
      MixedPrecision precision = fp32();
      if (mixed) precision.param_dtype = at::kBFloat16, precision.norms_fp32 = true;
      ParamGroup group("g", kParams, precision, mesh);
      fill(group);
      group.wait_unshard();
      group.keep_slice();
      EXPECT_FALSE(group.is_full());
      group.wait_unshard();
      expect_full(group);
      group.keep_slice();
      group.reshard();  // the slice is dropped: the next gather is from the master shards
      group.master().add_(1);
      group.wait_unshard();
      EXPECT_TRUE(group.params()[0].to(at::kFloat).equal(whole(0) + 1));
    }
    EXPECT_EQ(mesh.slice()->stats().calls, 2);
  });
}

TEST(ParamGroup, GathersNormsInFp32BesideTheRest) {
  run_local_ranks(3, [](Collectives& comm) {
    Mesh mesh(comm);
    MixedPrecision precision;
    precision.norms_fp32 = true;
    ParamGroup group("g", kParams, precision, mesh);
    fill(group);
    group.master().add_(0.001);
    group.wait_unshard();
    EXPECT_EQ(group.params()[0].scalar_type(), at::kBFloat16);
    EXPECT_EQ(group.params()[1].scalar_type(), at::kFloat);
    EXPECT_TRUE(group.params()[1].equal(whole(1) + 0.001));
    EXPECT_TRUE(group.params()[0].equal((whole(0) + 0.001).to(at::kBFloat16)));
  });
}

// Gradient `value` everywhere on every rank: what this rank's shard of it becomes.
void reduce_constant(ParamGroup& group, double value, GradientSync sync = GradientSync::kFull) {
  group.wait_unshard();
  for (const auto& param : group.params()) {
    if (param.requires_grad()) const_cast<at::Tensor&>(param).mutable_grad() = at::full_like(param, value);
  }
  group.reshard();
  group.start_reduce(sync);
  group.wait_reduce();
}

void expect_gradient(ParamGroup& group, double value) {
  for (std::size_t i = 0; i < group.trainable().size(); ++i) {
    const at::Tensor rows = group.rows_view(group.grad(), group.grad_layout(), i);
    EXPECT_TRUE(rows.equal(at::full_like(rows, value))) << rows;
  }
}

TEST(ParamGroup, SumsGradientsOfTrainableParametersAndDividesAsAsked) {
  run_local_ranks(4, [](Collectives& comm) {
    Mesh mesh(comm);
    ParamGroup sum("sum", kParams, fp32(), mesh);
    EXPECT_EQ(sum.trainable(), (std::vector<std::size_t>{0, 1}));
    reduce_constant(sum, 3);
    expect_gradient(sum, 12);
    reduce_constant(sum, 1);
    expect_gradient(sum, 16);
    MixedPrecision mean = fp32();
    mean.divide_gradients_by = 4;
    ParamGroup average("average", kParams, mean, mesh);
    reduce_constant(average, 3);
    expect_gradient(average, 3);
  });
}

TEST(ParamGroup, Fp16SumsThatWouldOverflowAreDividedBefore) {
  run_local_ranks(4, [](Collectives& comm) {
    Mesh mesh(comm);
    MixedPrecision precision = fp32();
    precision.reduce_dtype = at::kHalf;
    ParamGroup group("g", kParams, precision, mesh);
    reduce_constant(group, 30000);  // 4 * 30000 is beyond fp16's 65504
    expect_gradient(group, 120000);
  });
}

TEST(ParamGroup, HeldAndPartialGradientsEndInTheSameSum) {
  run_local_ranks(4, [](Collectives& comm) {
    Mesh mesh(comm, 2);
    for (const auto early : {GradientSync::kNone, GradientSync::kReduceScatter}) {
      ParamGroup group("g", kParams, fp32(), mesh);
      reduce_constant(group, 1, early);
      reduce_constant(group, 2, early);
      EXPECT_FALSE(group.grad().defined());
      reduce_constant(group, 4);
      expect_gradient(group, 4 * 7);
      reduce_constant(group, 1);  // nothing of the held ones is left
      expect_gradient(group, 4 * 8);
    }
  });
}

TEST(ParamGroup, AFrozenGroupReducesNothing) {
  run_local_ranks(2, [](Collectives& comm) {
    Mesh mesh(comm);
    ParamGroup group("g", {{"a.weight", {4, 2}, false}}, fp32(), mesh);
    group.start_reduce();
    group.wait_reduce();
    EXPECT_FALSE(group.grad().defined());
    EXPECT_EQ(comm.stats().calls, 0);
  });
}

TEST(Mesh, RefusesSizesThatDoNotDivide) {
  run_local_ranks(4, [](Collectives& comm) {
    EXPECT_THROW(Mesh(comm, 3), std::invalid_argument);
    EXPECT_THROW(Mesh(comm, 1, 3), std::invalid_argument);
    EXPECT_THROW(Mesh(comm, 2, 4), std::invalid_argument);
  });
}

TEST(Mesh, ConsecutiveRanksShareACopy) {
  run_local_ranks(4, [](Collectives& comm) {
    Mesh mesh(comm, 2);
    EXPECT_EQ(mesh.replica(), comm.rank() / 2);
    EXPECT_EQ(mesh.shard().rank(), comm.rank() % 2);
    EXPECT_EQ(mesh.replicate()->rank(), comm.rank() / 2);
    at::Tensor sum = at::full({1}, static_cast<double>(comm.rank()), at::kDouble);
    mesh.replicate()->all_reduce_sum("replicas", sum);
    EXPECT_EQ(sum.item<double>(), comm.rank() % 2 == 0 ? 2 : 4);
  });
}

}  // namespace
}  // namespace fx::engine
