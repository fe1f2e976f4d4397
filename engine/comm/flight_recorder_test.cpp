#include "engine/comm/flight_recorder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/comm/local.h"
#include "spec/json.h"

namespace fx::engine {
namespace {

Json dump_of(const FlightRecorder& recorder) {
  auto json = parse_json(recorder.dump("a test"));
  EXPECT_TRUE(json.has_value());
  return *json;
}

TEST(FlightRecorder, NumbersTheCallsOfEachGroupFromOne) {
  FlightRecorder recorder(2);
  const int world = recorder.add_group("world", "gloo", {0, 1, 2, 3}),
            pair = recorder.add_group("shard 1", "gloo", {2, 3});
  recorder.schedule(world, {"all_reduce", "loss", 1, 1, "Double"});
  const auto gather = recorder.schedule(pair, {"all_gather", "layer 0", 8, 16, "BFloat16"});
  EXPECT_EQ(recorder.sequence_of(gather), 1);
  recorder.start(gather);
  recorder.complete(gather);
  const Json json = dump_of(recorder);
  EXPECT_EQ(json["rank"], 2);
  EXPECT_EQ(json["pg_config"]["1"]["ranks"], "[2,3]");
  EXPECT_EQ(json["pg_status"]["0"]["last_enqueued_collective"], 1);
  EXPECT_EQ(json["pg_status"]["0"]["last_completed_collective"], 0);
  const Json& last = json["entries"].back();
  EXPECT_EQ(last["profiling_name"], "gloo:all_gather");
  EXPECT_EQ(last["stage"], "layer 0");
  EXPECT_EQ(last["input_sizes"], Json::parse("[[8]]"));
  EXPECT_EQ(last["state"], "completed");
  EXPECT_EQ(json["entries"][0]["state"], "scheduled");
}

TEST(FlightRecorder, KeepsTheLastCallsOnlyButCountsAll) {
  FlightRecorder recorder(0, 4);
  const int group = recorder.add_group("world", "gloo", {0});
  const auto first = recorder.schedule(group, {"barrier", "begin", 1, 1, "Float"});
  for (int i = 0; i < 9; ++i) recorder.schedule(group, {"all_reduce", "n" + std::to_string(i), 1, 1, "Float"});
  recorder.start(first);  // overwritten: must not touch the record in its place
  const Json json = dump_of(recorder);
  ASSERT_EQ(json["entries"].size(), 4u);
  EXPECT_EQ(json["entries"][0]["stage"], "n5");
  EXPECT_EQ(json["entries"][3]["collective_seq_id"], 10);
  for (const auto& entry : json["entries"]) EXPECT_EQ(entry["state"], "scheduled");
}

TEST(FlightRecorder, TextInTheRecordIsDataNotJson) {
  FlightRecorder recorder(0);
  recorder.schedule(recorder.add_group("a \"group\"", "gloo", {0}), {"all_gather", "evil\n\"x\": [", 1, 1, "Float"});
  recorder.enter("phase \"p\"\n");
  const Json json = dump_of(recorder);
  EXPECT_EQ(json["entries"][0]["stage"], "evil\n\"x\": [");
  EXPECT_EQ(json["phase"], "phase \"p\"\n");
}

TEST(FlightRecorder, CollectivesAreRecordedAsTheyAreCalled) {
  run_local_ranks(2, [](Collectives& comm) {
    comm.barrier("begin");
    comm.recorder().enter("data");
    comm.barrier("end");
    const Json json = dump_of(comm.recorder());
    EXPECT_EQ(json["rank"], comm.rank());
    EXPECT_EQ(json["pg_status"]["0"]["last_completed_collective"], 2);
    EXPECT_EQ(json["entries"][1]["profiling_name"], "local:barrier");
    EXPECT_EQ(json["phase"], "data");
    const auto line = comm.recorder().status_lines().at(0);
    EXPECT_NE(line.find("last enqueued work: 2 (barrier, end), last completed work: 2"), std::string::npos) << line;
  });
}

}  // namespace
}  // namespace fx::engine
