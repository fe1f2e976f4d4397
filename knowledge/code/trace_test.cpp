// Conditions, loops and jumps of a trace.
#include <gtest/gtest.h>

#include "knowledge/code/program_testing.h"

namespace fx::knowledge::code {
namespace {

std::vector<const Event*> collectives(const Program& program) {
  return events_of(program, EventKind::kCollective);
}

TEST(Guards, EveryWayToAskForTheRankIsARankCondition) {
  for (const char* rank : {"dist.get_rank()", "int(os.environ['RANK'])", "int(os.getenv('SLURM_PROCID', 0))",
                           "accelerator.process_index", "mesh.get_rank()"}) {
    const auto program = program_of(
        "import os\nfrom accelerate import Accelerator\naccelerator = Accelerator()\n"
        "mesh = dist.init_device_mesh('cuda', (8,))\nme = " +
        std::string(rank) + "\nif me == 0:\n    dist.barrier()\n");
    ASSERT_EQ(collectives(*program).size(), 1u) << rank;
    EXPECT_NE(rank_guard(*collectives(*program)[0]), nullptr) << rank;
  }
}

TEST(Guards, ARankOfAMatrixIsNone) {
  const auto program = program_of(
      "def f(rank, config):\n    if rank == 8:\n        dist.barrier()\n    if config.lora_rank > 4:\n        dist.barrier()\n");
  for (const Event* event : collectives(*program)) EXPECT_EQ(rank_guard(*event), nullptr);
}

TEST(Guards, AHelperThatAsksForTheRankPassesItOn) {
  const auto program =
      program_of("def main_process():\n    return dist.get_rank() == 0\nif main_process():\n    dist.barrier()\n");
  ASSERT_EQ(collectives(*program).size(), 1u);
  EXPECT_NE(rank_guard(*collectives(*program)[0]), nullptr);
}

TEST(Guards, BranchesExcludeEachOther) {
  const auto program = program_of(
      "def f(a):\n    if a:\n        dist.barrier()\n    else:\n        dist.all_reduce(1)\n    dist.broadcast(1, 0)\n");
  const auto events = collectives(*program);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_FALSE(compatible(*events[0], *events[1]));
  EXPECT_TRUE(compatible(*events[0], *events[2]));
}

TEST(Guards, ComparisonsOfOneThingExcludeEachOther) {
  const auto program = program_of(
      "import enum\nclass Way(str, enum.Enum):\n    A = 'a'\n    B = 'b'\n"
      "def one(way):\n    if way is Way.A:\n        dist.barrier()\n"
      "def two(way):\n    if way is not Way.A:\n        dist.all_reduce(1)\n"
      "def three(way):\n    if way == Way.B:\n        dist.broadcast(1, 0)\n"
      "def main(given):\n    way = Way(given)\n    one(way)\n    two(way)\n    three(way)\n");
  const auto events = collectives(*program);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_FALSE(compatible(*events[0], *events[1]));
  EXPECT_FALSE(compatible(*events[0], *events[2]));
  EXPECT_TRUE(compatible(*events[1], *events[2]));
}

TEST(Guards, OneCaseOfAMatchExcludesTheOthers) {
  const auto program = program_of(
      "def f(way):\n    match way:\n        case 'a':\n            dist.barrier()\n        case _:\n"
      "            dist.all_reduce(1)\n    dist.broadcast(1, 0)\n");
  const auto events = collectives(*program);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_FALSE(compatible(*events[0], *events[1]));
  EXPECT_TRUE(compatible(*events[1], *events[2]));
}

TEST(Guards, ACountIsThisNowAndThatLater) {
  const auto program = program_of(
      "def f(items):\n    for i, x in enumerate(items):\n        if i == 0:\n            dist.barrier()\n"
      "        if i == 5:\n            dist.all_reduce(x)\n");
  const auto events = collectives(*program);
  ASSERT_GE(events.size(), 2u);
  EXPECT_TRUE(compatible(*events[0], *events[1]));
}

TEST(Guards, AfterAReturnTheRestIsUnderTheOppositeCondition) {
  const auto program = program_of("def f():\n    if dist.get_rank() != 0:\n        return\n    dist.barrier()\n");
  const auto events = collectives(*program);
  ASSERT_EQ(events.size(), 1u);
  ASSERT_NE(rank_guard(*events[0]), nullptr);
  EXPECT_TRUE(rank_guard(*events[0])->implied);
  EXPECT_FALSE(rank_guard(*events[0])->positive);
}

TEST(Guards, AReductionMakesAValueTheSameEverywhere) {
  const auto program = program_of(
      "import torch\ndef f(net, x):\n    bad = torch.isnan(net(x))\n    dist.all_reduce(bad)\n    if bad:\n        dist.barrier()\n");
  for (const Event* event : collectives(*program)) EXPECT_EQ(local_guard(*event), nullptr);
}

TEST(Jumps, KnowWhatTheySkip) {
  const auto program = program_of(
      "def f(items):\n"
      "    for i in items:\n"
      "        if i:\n            continue\n"
      "        dist.barrier()\n"
      "    dist.all_reduce(1)\n");
  const auto jumps = events_of(*program, EventKind::kJump);
  ASSERT_FALSE(jumps.empty());
  const auto events = collectives(*program);
  EXPECT_GT(jumps[0]->skip_end, events[0]->index);
  EXPECT_LE(jumps[0]->skip_end, events.back()->index);
}

TEST(Jumps, ABreakLeavesTheLoopAndAReturnTheFunction) {
  const auto program = program_of(
      "def f(items, stop):\n"
      "    for i in items:\n"
      "        if stop(i):\n            break\n"
      "        dist.barrier()\n"
      "    if stop(0):\n        return\n"
      "    dist.all_reduce(1)\n"
      "def main(items, stop):\n    f(items, stop)\n    dist.broadcast(1, 0)\n"
      "main([x for x in y], z)\n");
  const Event* broadcast = call_of(*program, "torch.distributed.broadcast");
  const Event* reduce = call_of(*program, "torch.distributed.all_reduce");
  ASSERT_TRUE(broadcast != nullptr && reduce != nullptr);
  for (const Event* jump : events_of(*program, EventKind::kJump)) {
    EXPECT_LE(jump->skip_end, broadcast->index);
    if (jump->callee == "break") {
      EXPECT_LE(jump->skip_end, reduce->index);
    } else {
      EXPECT_GT(jump->skip_end, reduce->index);
    }
  }
}

TEST(Loops, RunTwiceAndTellTheTurnsApart) {
  const auto program = program_of("def f(items):\n    for i in items:\n        dist.barrier()\n");
  const auto events = collectives(*program);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]->pass, 1);
  EXPECT_EQ(events[1]->pass, 2);
  EXPECT_EQ(events[0]->loop, events[1]->loop);
  EXPECT_EQ(events[0]->loop->second, events[1]->index);
}

TEST(Loops, AShareByRankIsUneven) {
  const auto program = program_of("def f(data, n):\n    for x in data[dist.get_rank()::n]:\n        dist.barrier()\n");
  ASSERT_FALSE(collectives(*program).empty());
  EXPECT_NE(collectives(*program)[0]->loop->taints & kUneven, 0);
}

TEST(Models, WrappersAndPartsBelongToOneModel) {
  const auto program = program_of(
      "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nfrom n import Net\n"
      "net = Net()\nwrapped = torch.compile(FSDP(net, use_orig_params=True))\n"
      "opt = torch.optim.AdamW(wrapped.parameters())\nwrapped(1)\n");
  const Event* built = events_of(*program, EventKind::kOptimizer)[0];
  const Event* forward = events_of(*program, EventKind::kForward)[0];
  EXPECT_TRUE(same_model(built->subject, forward->subject));
  EXPECT_EQ(sharding_of(program->traces()[0], forward->subject), Sharding::kFsdp1);
}

}  // namespace
}  // namespace fx::knowledge::code
