// Names and imports: which thing a call in some file is about, before anything runs.
#include <gtest/gtest.h>

#include "knowledge/code/names.h"
#include "knowledge/code/program_testing.h"

namespace fx::knowledge::code {
namespace {

TEST(Names, EveryPathOfAThingGivesOneName) {
  EXPECT_EQ(canonical_name("torch.distributed._composable.fsdp.fully_shard"), "torch.distributed.fsdp.fully_shard");
  EXPECT_EQ(canonical_name("torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel"),
            "torch.distributed.fsdp.FullyShardedDataParallel");
  EXPECT_EQ(canonical_name("torch.utils.data.distributed.DistributedSampler"), "torch.utils.data.DistributedSampler");
  EXPECT_EQ(canonical_name("mine.torch.fsdp"), "mine.torch.fsdp");
}

TEST(Names, PartsOfADottedName) {
  EXPECT_EQ(last_part("a.b.c"), "c");
  EXPECT_EQ(last_part("c"), "c");
  EXPECT_TRUE(is_class_like("torch.optim.AdamW"));
  EXPECT_FALSE(is_class_like("torch.save"));
}

TEST(Reader, AnAliasIsTheThingItStandsFor) {
  const auto program = program_of(
      "from torch.distributed.fsdp import fully_shard as fs\n"
      "import torch.distributed.checkpoint as dcp\n"
      "dcp.save({}, checkpoint_id='a')\n"
      "fs(model)\n");
  EXPECT_EQ(events_of(*program, EventKind::kDcpSave).size(), 1u);
  EXPECT_EQ(events_of(*program, EventKind::kShard).size(), 1u);
  EXPECT_TRUE(program->calls("torch.distributed.fsdp.fully_shard"));
}

TEST(Reader, AnImportInsideAFunctionCounts) {
  const auto program = program_of("def end():\n    from torch.distributed import barrier as wait\n    wait()\nend()\n");
  ASSERT_EQ(events_of(*program, EventKind::kCollective).size(), 1u);
  EXPECT_EQ(events_of(*program, EventKind::kCollective)[0]->callee, "torch.distributed.barrier");
}

TEST(Reader, RelativeImportsFindTheFilesOfTheRequest) {
  const auto program =
      program_of_files({{"pkg/run.py", "from .sub.steps import finish\nfinish()\n"},
                        {"pkg/sub/steps.py", "from ..base import wait\n\n\ndef finish():\n    wait()\n"},
                        {"pkg/base.py", "import torch.distributed as dist\n\n\ndef wait():\n    dist.barrier()\n"}});
  ASSERT_EQ(events_of(*program, EventKind::kCollective).size(), 1u);
  const auto chain = call_chain(*events_of(*program, EventKind::kCollective)[0]);
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].first->name, "pkg/sub/steps.py");
  EXPECT_EQ(chain[1].first->name, "pkg/run.py");
}

TEST(Reader, ClassesFollowTheirBasesAcrossFiles) {
  const auto program =
      program_of_files({{"base.py", "import torch.nn as nn\nclass Base(nn.Module):\n    pass\n"},
                        {"net.py", "from base import Base\nclass Net(Base):\n    pass\nclass Plain:\n    pass\n"},
                        {"t.py", "import torch.distributed\n"}});
  bool net = false, plain = true;
  for (const Class& known : program->classes()) {
    if (known.name == "Net") net = known.is_module;
    if (known.name == "Plain") plain = known.is_module;
  }
  EXPECT_TRUE(net);
  EXPECT_FALSE(plain);
}

TEST(Reader, WhatAFileThatStopsShortNeverCallsIsNotKnown) {
  const auto whole = program_of("def f():\n    print('done')\n");
  EXPECT_FALSE(whole->may_call(".set_epoch"));
  for (const char* end : {"print('done',\n", "x = [1, 2\n", "text = \"\"\"begun\n"}) {
    const auto part = program_of("dist.barrier()\n" + std::string(end));
    EXPECT_TRUE(part->may_call(".set_epoch")) << end;
    EXPECT_FALSE(part->calls(".set_epoch")) << end;
  }
  EXPECT_FALSE(program_of("def broken(:\n    pass\nprint('(')\n")->may_call(".set_epoch"));
  // A statement within an open bracket: a slip.
  EXPECT_FALSE(program_of("def broken(a, b:\n    c = a + b\n    return c\n")->may_call(".set_epoch"));
}

TEST(Reader, OnlyDistributedTrainingIsInScope) {
  EXPECT_TRUE(program_of("")->in_scope());
  EXPECT_FALSE(program_of_files({{"a.py", "import torch\nx = torch.zeros(2)\n"}})->in_scope());
  EXPECT_TRUE(program_of_files({{"a.py", "from accelerate import Accelerator\n"}})->in_scope());
}

}  // namespace
}  // namespace fx::knowledge::code
