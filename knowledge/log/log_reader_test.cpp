#include "knowledge/log/log_reader.h"

#include <gtest/gtest.h>

#include "knowledge/log/collective_events.h"
#include "knowledge/log/core_table_testing.h"
#include "knowledge/log/desync.h"
#include "knowledge/log/exit_events.h"
#include "knowledge/log/memory_events.h"
#include "knowledge/log/scene.h"
#include "knowledge/log/timestamp.h"
#include "knowledge/log/train_progress.h"

namespace fx::knowledge {
namespace {

LogBook read(std::string_view text, LogLimits limits = {}, std::size_t chunk = 7) {
  LogReader reader(core_table(), limits);
  reader.begin("");
  for (std::size_t at = 0; at < text.size(); at += chunk) reader.feed(text.substr(at, chunk));
  return reader.finish();
}

TEST(PhraseScanner, FindsOverlappingPhrasesIgnoringCase) {
  const PhraseScanner scanner({"he", "she", "hers"});
  std::vector<std::uint32_t> found;
  scanner.scan("usHERS", [&](std::uint32_t phrase) { found.push_back(phrase); });
  EXPECT_EQ(found, (std::vector<std::uint32_t>{1, 0, 2}));
}

TEST(LineHead, ReadsTheRankPrefixesOfLaunchers) {
  EXPECT_EQ(read_head("[rank12]: text").rank, 12);
  EXPECT_EQ(read_head("[rank0]:[E626 03:50:10.02 ProcessGroupNCCL.cpp:632] [Rank 0] text").rank, 0);
  EXPECT_EQ(read_head("[E ProcessGroupNCCL.cpp:456] [Rank 3] text").rank, 3);
  EXPECT_EQ(read_head("7: srun text").rank, 7);
  EXPECT_EQ(read_head("[1,5]<stderr>:mpirun text").rank, 5);
  EXPECT_EQ(read_head("[rank: 4] Lightning text").rank, 4);
  EXPECT_EQ(read_head("[default3]: torchrun text").local_rank, 3);
  EXPECT_EQ(read_head("2024-01-01 10:00:00,1 rank 6: text").rank, 6);
  EXPECT_EQ(read_head("loss 1.5 at step 3").rank, -1);
}

TEST(LineHead, ReadsActorsContainersAndNcclHosts) {
  const auto ray = read_head("(WorkerDict pid=51, ip=10.0.0.2) [rank3] text");
  EXPECT_EQ(ray.actor, "WorkerDict");
  EXPECT_EQ(ray.pid, 51);
  EXPECT_EQ(ray.host, "10.0.0.2");
  EXPECT_EQ(ray.rank, 3);
  const auto nested = read_head("(Policy(rank=6) pid=9) ValueError: x");
  EXPECT_EQ(nested.rank, 6);
  EXPECT_EQ(nested.pid, 9);
  EXPECT_EQ(nested.body, 23U);
  EXPECT_EQ(read_head("trainer-1  | text").actor, "trainer-1");
  const auto nccl = read_head("n12:40111:40870 [6] misc/ibvwrap.cc:262 NCCL WARN text");
  EXPECT_EQ(nccl.host, "n12");
  EXPECT_EQ(nccl.local_rank, 6);
}

TEST(Timestamp, ReadsSeveralStyles) {
  EXPECT_EQ(read_timestamp("1970-01-02 00:00:01,5 x")->seconds, 86401.5);
  EXPECT_EQ(read_timestamp("1970-01-01T00:00:02.250Z x")->seconds, 2.25);
  EXPECT_EQ(read_timestamp("01/01/1970 00:00:03 - x")->seconds, 3);
  EXPECT_TRUE(read_timestamp("Nov 30 06:07:13 host"));
  EXPECT_TRUE(read_timestamp("0626 03:50:14.01 x"));
  EXPECT_FALSE(read_timestamp("loss 1.0"));
}

TEST(LogReader, NumbersLinesWhateverTheChunksAndTheProgressBars) {
  const auto book = read("a\n 10%|#  |\r 20%|## |\rRuntimeError: x\r\n\x1b[31mb\x1b[0m\n");
  ASSERT_EQ(book.lines.size(), 5U);
  EXPECT_EQ(book.at(3).number, 2);
  EXPECT_EQ(book.at(3).text, "RuntimeError: x");
  EXPECT_EQ(book.at(4).number, 3);
  EXPECT_EQ(book.at(4).text, "b");
}

TEST(LogReader, TakesLocalRanksForRanksOnlyWhereLinesThatStateBothAgree) {
  const std::string text = "[default0]: tokenizing\n[default1]: [Rank 1] timed out\n";
  EXPECT_EQ(read(text).at(0).rank, 0);
  EXPECT_EQ(read(text + "[default1]: [Rank 9] timed out\n").at(0).rank, -1);
  EXPECT_EQ(read("[default0]: tokenizing\n").at(0).rank, -1);
}

TEST(LogReader, TakesLocalRanksForRanksWhereNothingTellsOfASecondHost) {
  const std::string text = "[default0]: tokenizing\n[default5]: tokenizing\n";
  EXPECT_EQ(read(text).at(1).rank, 5);
  EXPECT_EQ(read(text + "torchrun --nnodes=1 --nproc_per_node=6 sft.py\n").at(1).rank, 5);
  for (const char* hosts : {"torchrun --nnodes=4 sft.py\n", "node_rank: 1\n", "n1:7:7 [0] NCCL INFO nranks 32\n",
                            "on 3 nodes\n", "(node-3 pid=5) up\n[rank: 7] up\n"}) {
    EXPECT_EQ(read(text + hosts).at(1).rank, -1) << hosts;
  }
}

TEST(LogReader, TakesOutWhatCollectorsAndPastesPutAround) {
  const auto docker = read(
      "{\"log\":\"[rank3] say \\\"a\\\" \\u003c b\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-30T10:00:00.1Z\"}\n");
  EXPECT_EQ(docker.at(0).body(), "say \"a\" < b");
  EXPECT_EQ(docker.at(0).rank, 3);
  const auto cri = read("2026-11-30T10:00:00.123456789Z stderr F [rank4] up\n{\"log\":\"metrics\"}\n");
  EXPECT_EQ(cri.at(0).body(), "up");
  EXPECT_EQ(cri.at(0).rank, 4);
  EXPECT_EQ(cri.at(1).text, "{\"log\":\"metrics\"}");
  const auto syslog = read("Nov 30 10:00:00 gpu-07 train[4321]: [rank5] up\nNov 30 10:00:00 gpu-07 kernel: down\n");
  EXPECT_EQ(syslog.at(0).body(), "up");
  EXPECT_EQ(syslog.at(0).head.host, "gpu-07");
  EXPECT_EQ(syslog.at(1).body(), "down");
  const auto quoted = read("> [rank6] up\n>\n>   File \"a.py\"\n> end\n");
  EXPECT_EQ(quoted.at(0).rank, 6);
  EXPECT_EQ(quoted.at(2).text, "  File \"a.py\"");
  EXPECT_EQ(read("> building\nstep 1\n> done\n").at(0).text, "> building");
}

TEST(LogReader, PassesOverBinaryDataButReadsDamagedText) {
  const auto book = read(std::string("a\n\x03\x91 ddp \x02\x17 nccl\nstep 3 of \x01 9, loss 2.1, all ranks, node 4\n"));
  ASSERT_EQ(book.lines.size(), 2U);
  EXPECT_EQ(book.at(1).number, 3);
  EXPECT_EQ(book.at(1).text, "step 3 of  9, loss 2.1, all ranks, node 4");
}

TEST(LogReader, KeepsTheFailureAtTheEndOfALongLog) {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "step: " + std::to_string(i) + " loss: 1.5 it/s\n";
  text += "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n";
  const auto book = read(text, {}, 4096);
  const auto ooms = read_gpu_ooms(book);
  ASSERT_EQ(ooms.size(), 1U);
  EXPECT_EQ(book.at(ooms[0].line).number, 60001);
  EXPECT_EQ(ooms[0].rank, 5);
  EXPECT_LT(book.lines.size(), 10000U);
}

TEST(ReadGpuOoms, KnowsTheOtherProcessesThatTheDriverNames) {
  const auto ooms = read_gpu_ooms(read(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. Process 71 has 48.00 GiB memory in use. "
      "Process 72 has 30.00 GiB memory in use.\n"));
  ASSERT_EQ(ooms.size(), 1U);
  ASSERT_EQ(ooms[0].processes.size(), 2U);
  EXPECT_DOUBLE_EQ(ooms[0].processes[1], 30.0 * 1024 * 1024 * 1024);
}

TEST(LogReader, LeavesNoMarkOnWhatEveryHealthyRunPrints) {
  const auto book = read(
      "The current process just got forked. Disabling parallelism to avoid deadlocks...\n"
      "step 3: loss 2.5\n");
  EXPECT_EQ(book.find("core", "chatter").count, 0);
  EXPECT_EQ(book.find("core", "step").count, 1);
  ASSERT_EQ(book.lines.size(), 2U);
}

TEST(LogReader, PutsTheFirstLineOfEachWordingBeforeItsRepeats) {
  const auto book = read("loss 1.0\nloss 2.0\nloss 3.0\nloss of the last batch 4.0\n");
  EXPECT_EQ(book.find("core", "loss").telling, (std::vector<int>{0, 3, 1, 2}));
}

TEST(ReadSteps, FindsTheLossBehindTheWordThatNamesIt) {
  const auto book = read("iter 200 step 50 | loss train: 3.841, val: n/a | iter time: 316.57 ms\nloss: 0.5 step 51\n");
  const auto steps = read_steps(book);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_DOUBLE_EQ(steps[0].loss, 3.841);
  EXPECT_EQ(steps[0].step, 50);
  EXPECT_DOUBLE_EQ(steps[1].loss, 0.5);
}

TEST(ReadExits, SaysWhoClaimsTheRootAndWhichSignalItWas) {
  const auto book = read(
      "Root Cause (first observed failure):\n  rank      : 3 (local_rank: 3)\n  exitcode  : -9 (pid: 64)\n"
      "2026-11-30T06:07:13.042Z supervisor: rank 1 (pid 4242) killed by signal 9 (SIGKILL)\n"
      "srun: error: n8: task 41: Exited with exit code 1\n");
  const auto exits = read_exits(book);
  ASSERT_EQ(exits.size(), 3U);
  EXPECT_EQ(exits[0].rank, 1);
  EXPECT_EQ(exits[0].signal, 9);
  EXPECT_EQ(exits[1].rank, 41);
  EXPECT_EQ(exits[1].code, 1);
  EXPECT_EQ(exits[2].rank, 3);
  EXPECT_TRUE(exits[2].claimed_root);
}

TEST(Desync, NamesTheRankBehindTheOddOneAndTheAbsentOne) {
  std::vector<CollectiveTimeout> timeouts{{0, 0, 9, "ALLREDUCE", 1, 1, 600, {}},
                                          {1, 1, 9, "ALLREDUCE", 1, 1, 600, {}},
                                          {2, 2, 9, "ALLREDUCE", 1, 1, 600, {}}};
  EXPECT_EQ(find_desync(timeouts, {}, {}, {0, 1, 2}, 4).suspect(), 3);
  EXPECT_EQ(find_desync(timeouts, {{3, 3, "0", 8, 8, -1}}, {}, {0, 1, 2, 3}, 4).suspect(), 3);
  timeouts.push_back({4, 3, 9, "BROADCAST", 1, 1, 600, {}});
  EXPECT_EQ(find_desync(timeouts, {}, {}, {0, 1, 2, 3}, 4).suspect(), 3);
}

TEST(GpuOom, ReadsBothStylesOfTheAllocator) {
  const auto book = read(
      "CUDA out of memory. Tried to allocate 172.00 MiB (GPU 0; 31.75 GiB total capacity; 30.10 GiB already allocated; "
      "101.94 MiB "
      "free; 30.41 GiB reserved in total by PyTorch)\n"
      "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 6 has a total capacity of 79.00 GiB of which 1.00 GiB is "
      "free. Of the "
      "allocated memory 58.00 GiB is allocated by PyTorch, and 16.00 GiB is reserved by PyTorch but unallocated.\n");
  const auto ooms = read_gpu_ooms(book);
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  ASSERT_EQ(ooms.size(), 2U);
  EXPECT_NEAR(ooms[0].reserved_unused, 0.31 * kGiB, 0.01 * kGiB);
  EXPECT_NEAR(ooms[0].capacity, 31.75 * kGiB, 1);
  EXPECT_NEAR(ooms[1].reserved_unused, 16 * kGiB, 1);
  EXPECT_NEAR(ooms[1].free, kGiB, 1);
  EXPECT_EQ(ooms[1].device, 6);
}

}  // namespace
}  // namespace fx::knowledge
