// Runs of our engine as their logs tell them, without the engine.
#include "knowledge/causes/engine_run.h"

#include <gtest/gtest.h>

#include "knowledge/causes/diagnose.h"

namespace fx::knowledge {
namespace {

std::string waited(int rank, int sequence, const std::string& where, const std::string& what = "timed out after 8 s") {
  return R"({"event":"error","time_ms":5,"rank":)" + std::to_string(rank) + R"(,"what":"rank )" + std::to_string(rank) +
         ": all_gather #" + std::to_string(sequence) + " (" + where + ") failed: " + what + R"(","where":")" + where +
         R"(","collective":"all_gather","sequence":)" + std::to_string(sequence) + ",\"hint\":\"\"}\n";
}

std::string stands(int rank, int enqueued, const std::string& phase) {
  const std::string number = std::to_string(enqueued);
  return "[rank " + std::to_string(rank) + "] pg id world: last enqueued work: " + number +
         " (all_gather, layer 1), last completed work: " + number + " (all_gather, layer 1); in phase \"" + phase +
         "\" for 8.5 s\n";
}

std::string entry(int sequence, const std::string& stage, const std::string& state) {
  return R"({"record_id":0,"process_group":["world","world"],"collective_seq_id":)" + std::to_string(sequence) +
         R"(,"profiling_name":"shm:all_gather","stage":")" + stage +
         R"(","input_sizes":[[8]],"output_sizes":[[16]],"state":")" + state + R"(","is_p2p":false})";
}

// A flight record of calls numbered from 1, the last one unfinished.
std::string record(int rank, const std::vector<std::string>& stages) {
  std::string out =
      "{\"version\": \"2.10\", \"rank\": " + std::to_string(rank) +
      ",\n\"pg_config\": {\"0\":{\"name\":\"world\",\"desc\":\"world\",\"ranks\":\"[0,1]\"}},\n\"entries\": [";
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i > 0) out += ',';
    out += "\n" + entry(static_cast<int>(i) + 1, stages[i], i + 1 < stages.size() ? "completed" : "started");
  }
  return out + "\n]}\n";
}

Cause cause_of(const std::vector<std::string>& logs) {
  std::vector<NamedLog> named;
  std::vector<std::string> names;
  names.reserve(logs.size());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    names.push_back(logs[i].front() == '{' && logs[i].find("\"entries\"") != std::string::npos
                        ? "flight_rank_" + std::to_string(i % 2) + ".json"
                        : "rank_" + std::to_string(i) + ".log");
    named.push_back({names.back(), logs[i]});
  }
  const Diagnosis diagnosis = diagnose(named);
  return diagnosis.causes.empty() ? Cause{} : diagnosis.causes.front();
}

TEST(EngineRun, ARankThatStandsIsJudgedByWhatItWasDoing) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"data", "slow-preprocessing-timeout"},
      {"checkpoint", "slow-checkpoint-timeout"},
      {"saving the model", "slow-checkpoint-timeout"},
      {"forward, layer 1", "nccl-timeout-undetermined"},
  };
  for (const auto& [phase, id] : cases) {
    const Cause cause = cause_of({waited(0, 33, "layer 2"), stands(1, 32, phase), waited(2, 33, "layer 2")});
    EXPECT_EQ(cause.id, id) << phase;
    EXPECT_EQ(cause.root_rank, 1) << phase;
    EXPECT_NE(cause.summary.find("\"" + phase + "\" for 8.5 s while ranks 0, 2 were in all_gather #33 (layer 2)"),
              std::string::npos)
        << cause.summary;
  }
}

TEST(EngineRun, ARankThatWaitedTooIsNotTheOneWaitedFor) {
  const Cause cause = cause_of({waited(0, 33, "layer 2"), stands(1, 32, "data"), stands(2, 33, "forward, layer 2")});
  EXPECT_EQ(cause.id, "slow-preprocessing-timeout");
  EXPECT_EQ(cause.root_rank, 1);
}

TEST(EngineRun, OfTwoRanksTheOneThatLeftSomethingOutLeftTheOrder) {
  const Cause cause = cause_of({waited(0, 4, "layer 3"), waited(1, 4, "layer 4"),
                                record(0, {"layer 0", "layer 1", "layer 2", "layer 3"}),
                                record(1, {"layer 0", "layer 2", "layer 3", "layer 4"})});
  EXPECT_EQ(cause.id, "conditional-forward-desync");
  EXPECT_EQ(cause.root_rank, 1) << cause.summary;
  EXPECT_NE(cause.summary.find("#2: it called all_gather (layer 2) where rank 0 called all_gather (layer 1)"),
            std::string::npos)
      << cause.summary;
}

TEST(EngineRun, ARankThatFailedByItselfComesBeforeThoseThatLostIt) {
  const std::string own =
      R"({"event":"error","time_ms":4,"rank":1,"what":"the index is odd","where":"forward, layer 1","collective":"","sequence":-1,"hint":""})"
      "\n";
  const Cause cause = cause_of({waited(0, 33, "layer 2", "connection closed by peer"), own});
  EXPECT_EQ(cause.id, "single-rank-exception");
  EXPECT_EQ(cause.root_rank, 1);
}

TEST(EngineRun, AnEchoOfAnotherRanksFailureIsNoFailureOfItsOwn) {
  const std::string echo =
      R"({"event":"error","time_ms":4,"rank":0,"what":"loading the model failed on rank 1","where":"load","collective":"","sequence":-1,"hint":""})"
      "\n";
  const std::string own =
      R"({"event":"error","time_ms":4,"rank":1,"what":"model.bin: odd header","where":"load","collective":"","sequence":-1,"hint":""})"
      "\n";
  EXPECT_EQ(cause_of({echo, own}).root_rank, 1);
}

}  // namespace
}  // namespace fx::knowledge
