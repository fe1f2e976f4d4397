#include "knowledge/log/recorder_dump.h"

#include <gtest/gtest.h>

#include "knowledge/log/core_table_testing.h"
#include "knowledge/log/desync.h"
#include "knowledge/log/log_reader.h"
#include "knowledge/log/quantity.h"
#include "knowledge/log/scene.h"

namespace fx::knowledge {
namespace {

std::string entry(int sequence, const std::string& operation, const std::string& state, const std::string& gap) {
  return "{" + gap + "\"frames\": [{\"name\": \"forward\", \"filename\": \"m.py\", \"line\": 7}]," + gap +
         "\"pg_id\": 0, \"process_group\": [\"0\", \"default_pg\"]," + gap +
         "\"collective_seq_id\": " + std::to_string(sequence) + "," + gap + "\"profiling_name\": \"" + operation +
         "\"," + gap + "\"input_sizes\": [[4, 512]], \"state\": \"" + state + "\", \"is_p2p\": false}";
}

std::string dump(const std::vector<std::string>& entries, const std::string& gap) {
  std::string out =
      "{\"version\": \"2.10\"," + gap + "\"pg_config\": {\"0\": {\"ranks\": \"[0, 1]\"}}," + gap + "\"entries\": [";
  for (std::size_t i = 0; i < entries.size(); ++i) out += (i > 0 ? "," : "") + gap + entries[i];
  return out + "]}";
}

Scene read(const std::vector<std::pair<std::string, std::string>>& logs) {
  LogReader reader(core_table());
  for (const auto& [name, text] : logs) {
    reader.begin(name);
    for (std::size_t at = 0; at < text.size(); at += 11) reader.feed(std::string_view(text).substr(at, 11));
  }
  return make_scene(reader.finish(), {});
}

TEST(RecorderDump, ReadsOneLineAndPrettyPrintedDumpsAlike) {
  for (const std::string gap : {" ", "\n  "}) {
    const auto scene = read(
        {{"fr_rank_0.json",
          dump({entry(1, "nccl:all_gather", "completed", gap), entry(2, "nccl:reduce_scatter", "started", gap)}, gap)},
         {"fr_rank_1.json", dump({entry(1, "nccl:all_gather", "completed", gap)}, gap)}});
    ASSERT_EQ(scene.book.dumps.size(), 2U);
    EXPECT_EQ(scene.book.dumps[0].entries.size(), 2U);
    EXPECT_EQ(scene.book.dumps[0].entries[1].sizes, "[[4,512]]");
    EXPECT_EQ(scene.book.dumps[0].entries[1].frames, "forward ");
    EXPECT_EQ(scene.desync.behind, (std::set<int>{1}));
    EXPECT_EQ(scene.desync.suspect(), 1);
  }
}

TEST(RecorderDump, NamesTheRankWithAnotherOperation) {
  std::vector<std::pair<std::string, std::string>> logs;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string operation = rank == 2 ? "nccl:all_reduce" : "nccl:all_gather";
    logs.emplace_back("trace_" + std::to_string(rank), dump({entry(5, operation, "started", " ")}, " "));
  }
  EXPECT_EQ(read(logs).desync.differing, (std::set<int>{2}));
}

TEST(RecorderDump, IsReadAsFarAsItGoesWhenCutOff) {
  const std::string whole =
      dump({entry(1, "nccl:all_gather", "completed", " "), entry(2, "nccl:all_gather", "started", " ")}, " ");
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) read({{"rank_0.json", whole.substr(0, cut)}});
  const auto scene = read({{"rank_0.json", whole.substr(0, whole.size() - 12)}});
  ASSERT_EQ(scene.book.dumps.size(), 1U);
  EXPECT_EQ(scene.book.dumps[0].entries.size(), 1U);
}

TEST(RecorderDump, OtherJsonIsNone) {
  EXPECT_TRUE(read({{"", "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.4}\n"}}).book.dumps.empty());
  EXPECT_TRUE(read({{"", std::string(5000, '[')}}).book.dumps.empty());
}

TEST(Desync, DoesNotCompareNumbersOfDifferentProcessGroups) {
  const auto scene = read(
      {{"",
        "[rank0]:[E a.cpp:1] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
        "OpType=ALLGATHER, NumelIn=1, NumelOut=2, Timeout(ms)=600000)\n"
        "[rank0]:[E a.cpp:2] [PG ID 1 PG GUID 1 Rank 0] failure detected by watchdog at work sequence id: 7 PG status: last "
        "enqueued work: 7, last completed work: 6\n"
        "[rank1]:[E a.cpp:1] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=90, "
        "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000)\n"
        "[rank1]:[E a.cpp:2] [PG ID 2 PG GUID 9 Rank 1] failure detected by watchdog at work sequence id: 90 PG status: last "
        "enqueued work: 90, last completed work: 89\n"}});
  EXPECT_TRUE(scene.desync.behind.empty());
  EXPECT_TRUE(scene.desync.differing.empty());
}

TEST(LogBook, OrdersLinesOfDifferentLogsByTheirTimes) {
  const auto scene = read({{"a.log", "2026-03-01 10:00:05 later\n"},
                           {"dmesg", "[Sun Mar  1 10:00:01 2026] earlier\n"},
                           {"c.log", "E0301 10:00:03.5 1 x.py:1] between\nno time\n"}});
  EXPECT_TRUE(scene.book.earlier(1, 0));
  EXPECT_TRUE(scene.book.earlier(2, 0));
  EXPECT_TRUE(scene.book.earlier(1, 3));
}

TEST(WorkerCounts, ReadsNumbersOnEitherSideOfTheNoun) {
  EXPECT_EQ(worker_counts("saved on 16 ranks, world_size=8"), (std::set<long long>{8, 16}));
  EXPECT_EQ(worker_counts("model_world_size_4_rank_3.pt"), (std::set<long long>{4}));
  EXPECT_TRUE(worker_counts("step 16 of 100").empty());
}

TEST(CountsNoLabel, KnowsZeroFromNumbersThatBeginWithIt) {
  EXPECT_TRUE(counts_no_label("labels: 0/512"));
  EXPECT_TRUE(counts_no_label("0 supervised tokens in this batch"));
  EXPECT_TRUE(counts_no_label("masked 96 of 96 positions"));
  EXPECT_FALSE(counts_no_label("labels: 0.95 of all"));
  EXPECT_FALSE(counts_no_label("valid tokens: 812"));
}

}  // namespace
}  // namespace fx::knowledge
