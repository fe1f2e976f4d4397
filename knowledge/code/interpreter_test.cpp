// What an execution does, in the order in which it does it.
#include <gtest/gtest.h>

#include "knowledge/code/program_testing.h"

namespace fx::knowledge::code {
namespace {

TEST(Interpreter, FollowsCallsInExecutionOrder) {
  const auto program = program_of(
      "def last():\n    dist.destroy_process_group()\n"
      "def first():\n    dist.init_process_group('nccl')\n"
      "def main():\n    first()\n    dist.barrier()\n    last()\n"
      "main()\n");
  ASSERT_EQ(program->traces().size(), 1u);
  std::vector<EventKind> kinds;
  for (const Event& event : program->traces()[0].events) {
    if (!event.is(EventKind::kEnter) && !event.is(EventKind::kCall)) kinds.push_back(event.kind);
  }
  EXPECT_EQ(kinds, (std::vector{EventKind::kInitGroup, EventKind::kCollective, EventKind::kDestroyGroup}));
  EXPECT_EQ(program->backends(), std::vector<std::string>{"nccl"});
}

TEST(Interpreter, AMainGuardIsAnEntryAndALibraryIsNone) {
  EXPECT_TRUE(program_of("if __name__ == '__main__':\n    dist.barrier()\n")->traces()[0].from_entry);
  EXPECT_FALSE(program_of("def f():\n    dist.barrier()\n")->traces()[0].from_entry);
}

TEST(Interpreter, AttributesOfASelfOutliveTheMethodThatSetThem) {
  const auto program = program_of(
      "from torch.distributed.fsdp import fully_shard\n"
      "from net import Net\n"
      "class Trainer:\n"
      "    def __init__(self):\n        self.net = Net()\n        self.shard()\n"
      "    def shard(self):\n        fully_shard(self.net)\n"
      "    def go(self, x):\n        return self.net(x)\n"
      "Trainer().go(1)\n");
  const auto forwards = events_of(*program, EventKind::kForward);
  ASSERT_EQ(forwards.size(), 1u);
  EXPECT_EQ(sharding_of(program->traces()[0], forwards[0]->subject), Sharding::kFsdp2);
}

TEST(Interpreter, AClosureSeesTheNamesAroundIt) {
  const auto program = program_of(
      "from torch.distributed.fsdp import fully_shard\n"
      "def build(net):\n"
      "    def wrap():\n        fully_shard(net)\n"
      "    wrap()\n    return net\n"
      "from n import Net\n"
      "m = build(Net())\nm(1)\n");
  ASSERT_EQ(events_of(*program, EventKind::kShard).size(), 1u);
  EXPECT_TRUE(same_model(events_of(*program, EventKind::kShard)[0]->subject,
                         events_of(*program, EventKind::kForward)[0]->subject));
}

TEST(Interpreter, AGeneratorRunsWhereItIsConsumed) {
  const auto program = program_of(
      "def batches(sampler):\n"
      "    for e in range(3):\n        sampler.set_epoch(e)\n        yield e\n"
      "def main(s):\n"
      "    for b in batches(s):\n        dist.barrier()\n"
      "from d import make\nmain(make())\n");
  ASSERT_FALSE(events_of(*program, EventKind::kSetEpoch).empty());
  ASSERT_FALSE(events_of(*program, EventKind::kCollective).empty());
  EXPECT_LT(events_of(*program, EventKind::kSetEpoch)[0]->index, events_of(*program, EventKind::kCollective)[0]->index);
}

TEST(Interpreter, RecursionEnds) {
  const auto program = program_of("def f(n):\n    dist.barrier()\n    return f(n - 1)\nf(3)\n");
  EXPECT_EQ(events_of(*program, EventKind::kCollective).size(), 1u);
}

TEST(Interpreter, KnownConstantsDecideBranches) {
  const auto program = program_of("DEBUG = False\nif DEBUG:\n    dist.barrier()\nelse:\n    dist.all_reduce(1)\n");
  ASSERT_EQ(events_of(*program, EventKind::kCollective).size(), 1u);
  EXPECT_EQ(events_of(*program, EventKind::kCollective)[0]->guard, nullptr);
}

TEST(Interpreter, AManagerOfTheFilesIsAroundItsBlock) {
  const auto program = program_of(
      "import contextlib\nimport torch\n"
      "@contextlib.contextmanager\n"
      "def quiet():\n    with torch.no_grad():\n        yield\n"
      "with quiet():\n    dist.barrier()\n");
  const auto waits = events_of(*program, EventKind::kCollective);
  ASSERT_FALSE(waits.empty());
  EXPECT_TRUE(without_grad(*waits[0]));
}

TEST(Interpreter, ADecoratorOfTheFilesIsPartOfTheCall) {
  const auto program = program_of(
      "def only_first(fn):\n"
      "    def inner(*args):\n        if dist.get_rank() == 0:\n            return fn(*args)\n"
      "    return inner\n"
      "class A:\n"
      "    @only_first\n    def end(self, x):\n        self.x = x\n        dist.barrier()\n"
      "A().end(1)\n");
  const auto waits = events_of(*program, EventKind::kCollective);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_NE(rank_guard(*waits[0]), nullptr);
}

TEST(Interpreter, AFunctionOfAClassTakesItsObjectAsTheFirstArgument) {
  const auto program = program_of(
      "class Base:\n    def __init__(self, group):\n        self.group = group\n"
      "class Child(Base):\n    def __init__(self):\n        Base.__init__(self, 'g')\n"
      "dist.barrier(Child().group)\n");
  const Event* wait = call_of(*program, "torch.distributed.barrier");
  ASSERT_NE(wait, nullptr);
  EXPECT_TRUE(is_constant_text(wait->argument("group", 0), "g"));
}

TEST(Interpreter, AWrapperHandsOnTheMethodsOfWhatItHolds) {
  const auto program = program_of(
      "import torch.nn as nn\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n"
      "class Net(nn.Module):\n    def encode(self, x):\n        dist.barrier()\n"
      "FSDP(Net()).encode(1)\n");
  EXPECT_EQ(events_of(*program, EventKind::kForwardMethod).size(), 1u);
  EXPECT_EQ(events_of(*program, EventKind::kCollective).size(), 1u);
}

TEST(Interpreter, ADecoratedFunctionMayCallAnotherOneOfTheSameDecorator) {
  const auto program = program_of(
      "def traced(fn):\n    def inner(*args, **kwargs):\n        return fn(*args, **kwargs)\n    return inner\n"
      "@traced\ndef leaf():\n    dist.barrier()\n"
      "@traced\ndef root():\n    return leaf()\n"
      "root()\n");
  EXPECT_EQ(events_of(*program, EventKind::kCollective).size(), 1u);
}

TEST(Interpreter, AJumpSkipsNothingThatRunsOnEveryWayOut) {
  const auto program = program_of(
      "def f(x):\n    try:\n        if x:\n            return\n        first()\n    finally:\n        dist.barrier()\n"
      "f(data())\n");
  const auto barriers = events_of(*program, EventKind::kCollective);
  ASSERT_EQ(barriers.size(), 1u);
  for (const Event* jump : events_of(*program, EventKind::kJump))
    EXPECT_FALSE(jump->index < barriers[0]->index && jump->skip_end > barriers[0]->index);
}

TEST(Interpreter, AnObjectOfTheFilesIsEnteredAndLeft) {
  const auto program = program_of(
      "class Held:\n    def __enter__(self):\n        return self\n    def __exit__(self, *e):\n        dist.barrier()\n"
      "with Held() as held:\n    held.x = 1\n");
  EXPECT_EQ(events_of(*program, EventKind::kCollective).size(), 1u);
}

TEST(Interpreter, ADataclassFillsItsFieldsInOrderAndGoesOn) {
  const auto program = program_of(
      "from dataclasses import dataclass\n"
      "@dataclass\nclass Base:\n    group: str\n"
      "@dataclass\nclass Job(Base):\n    tag: str\n    again: 'Job' = None\n"
      "    def __post_init__(self):\n        dist.barrier(self.group)\n"
      "Job('g', 't')\n");
  const Event* wait = call_of(*program, "torch.distributed.barrier");
  ASSERT_NE(wait, nullptr);
  EXPECT_TRUE(is_constant_text(wait->argument("group", 0), "g"));
}

TEST(Interpreter, AFieldOfItsOwnClassEnds) {
  const auto program = program_of(
      "class Link:\n    next: Link\n    def pull(self):\n        dist.barrier()\n"
      "class Ring(Other):\n    pass\nclass Other(Ring):\n    x: Ring\n    def __post_init__(self):\n        dist.barrier()\n");
  EXPECT_GE(events_of(*program, EventKind::kCollective).size(), 2u);
}

TEST(Interpreter, AConstructorThatTakesItsOwnClassEnds) {
  for (const std::string type : {"A", "B"}) {
    const auto program = program_of("class A:\n    def __init__(self, a: " + type + "):\n        dist.barrier()\n" +
                                    "class B:\n    def __init__(self, b: A):\n        self.b = b\n");
    EXPECT_FALSE(events_of(*program, EventKind::kCollective).empty());
  }
}

TEST(Interpreter, AShortListIsWalkedOneByOneAlsoWithItsNumbers) {
  const auto program = program_of("for i, group in enumerate(['a', 'b']):\n    dist.barrier(group)\n");
  const auto barriers = events_of(*program, EventKind::kCollective);
  ASSERT_EQ(barriers.size(), 2u);
  EXPECT_TRUE(is_constant_text(barriers[1]->argument("group", 0), "b"));
}

TEST(Interpreter, WhatNobodyCallsRunsByItself) {
  const auto program =
      program_of("class A:\n    def one(self):\n        dist.barrier()\n    def two(self):\n        dist.barrier()\n");
  EXPECT_EQ(program->traces().size(), 2u);
}

TEST(Interpreter, AnyLengthOfInputIsBounded) {
  std::string text = "def f0(x):\n    return x\n";
  for (int i = 1; i < 400; ++i) {
    const std::string before = "f" + std::to_string(i - 1);
    text += "def f" + std::to_string(i) + "(x):\n    " + before + "(x)\n    " + before + "(x)\n    return " + before +
            "(x)\n";
  }
  const auto program = program_of(text + "f399(1)\n");
  EXPECT_FALSE(program->traces()[0].complete);
}

TEST(Interpreter, AListOfWhatAGeneratorYieldsRunsItThere) {
  for (const char* all : {"list(rows(net))", "[*rows(net)]", "sum(rows(net))", "meter().extend(rows(net))",
                          "a, b = rows(net)", "show(*rows(net))"}) {
    const auto program = program_of(
        "import torch\nfrom n import meter, show\nnet = torch.nn.Linear(1, 1)\n"
        "def rows(net):\n    yield net(1)\n"
        "def main(net):\n    with torch.no_grad():\n        " +
        std::string(all) + "\nmain(net)\n");
    ASSERT_EQ(program->traces().size(), 1u) << all;
    const auto forwards = events_of(*program, EventKind::kForward);
    ASSERT_EQ(forwards.size(), 1u) << all;
    EXPECT_TRUE(without_grad(*forwards[0])) << all;
  }
}

TEST(Interpreter, AContextEnteredByACallLastsUntilItIsLeft) {
  const auto program = program_of(
      "import torch\nnet = torch.nn.Linear(1, 1)\n"
      "def f(net):\n    quiet = torch.no_grad()\n    quiet.__enter__()\n    net(1)\n"
      "    quiet.__exit__(None, None, None)\n    net(2)\nf(net)\n");
  const auto forwards = events_of(*program, EventKind::kForward);
  ASSERT_EQ(forwards.size(), 2u);
  EXPECT_TRUE(without_grad(*forwards[0]));
  EXPECT_FALSE(without_grad(*forwards[1]));
}

TEST(Interpreter, OfSeveralFunctionsEachRunsAndExcludesTheOthers) {
  const auto program = program_of(
      "def one():\n    dist.barrier()\n"
      "def two():\n    dist.all_reduce(1)\n"
      "def main(kind):\n    work = {'one': one, 'two': two}\n    work[kind]()\n"
      "main(input())\n");
  const auto joint = events_of(*program, EventKind::kCollective);
  ASSERT_EQ(joint.size(), 2u);
  EXPECT_FALSE(compatible(*joint[0], *joint[1]));
}

TEST(Interpreter, TurnsOfAnInnerLoopBelongToTheTurnAround) {
  const auto program = program_of(
      "from n import parts, begin, work\n"
      "for part in parts:\n    begin(part)\n    for block in part.blocks:\n        work(block)\n");
  std::vector<const Event*> begins, works;
  for (const Event* call : events_of(*program, EventKind::kCall)) {
    if (call->callee == "n.begin") begins.push_back(call);
    if (call->callee == "n.work") works.push_back(call);
  }
  ASSERT_EQ(begins.size(), 2u);
  ASSERT_GE(works.size(), 3u);
  EXPECT_TRUE(same_turn(*begins[0], *works[1]));
  EXPECT_FALSE(same_turn(*works[1], *begins[1]));
}

TEST(Interpreter, WhatIsShardedIsNeverNothing) {
  for (const char* given : {"[]", "()", "[None]", "", "*[]", "None", "3"}) {
    const auto program =
        program_of("from torch.distributed.fsdp import fully_shard\nnet = fully_shard(" + std::string(given) + ")\n");
    for (const Event* shard : events_of(*program, EventKind::kShard)) EXPECT_NE(shard->subject, nullptr) << given;
  }
}

TEST(Interpreter, OfAWalkDownAModuleTwoLevelsRun) {
  const auto program = program_of(
      "import torch\nfrom torch.distributed.fsdp import fully_shard\n"
      "def walk(part):\n    for inner in part.children():\n        walk(inner)\n    fully_shard(part)\n"
      "net = torch.nn.Linear(1, 1)\nwalk(net)\n");
  const auto shards = events_of(*program, EventKind::kShard);
  ASSERT_EQ(shards.size(), 2u);
  EXPECT_TRUE(shards[0]->subject->element);
  EXPECT_FALSE(shards[1]->subject->element);
}

TEST(Interpreter, RegisteredFunctionsRunWhereTheirBaseIsCalled) {
  const auto program = program_of(
      "from functools import singledispatch\n"
      "@singledispatch\ndef show(some):\n    dist.barrier()\n"
      "@show.register\ndef _(some: int):\n    dist.all_reduce(some)\n"
      "show(1)\n");
  EXPECT_EQ(program->traces().size(), 1u);
  EXPECT_EQ(events_of(*program, EventKind::kCollective).size(), 2u);
}

TEST(Calls, AFoldRunsEachStepWithWhatTheOneBeforeGave) {
  const auto program = program_of(
      "from functools import reduce\nimport lib\n"
      "def a(x):\n    lib.first(x)\n    return lib.made(x)\n"
      "def b(x):\n    lib.second(x)\n    return x\n"
      "def main(start):\n    reduce(lambda so_far, step: step(so_far), (a, b), start)\n");
  const Event* second = call_of(*program, "lib.second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(main_of(second->argument("x", 0))->callee, "lib.made");
  EXPECT_NE(program_of("import functools\nfunctools.reduce(max, [])\nfunctools.reduce()\nfunctools.reduce(1, 2, 3)\n"),
            nullptr);
}

}  // namespace
}  // namespace fx::knowledge::code
