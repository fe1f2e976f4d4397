#include "server/runs/run_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/process.h"

namespace fx::server {
namespace {

using tools::RunState;

class RunStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::path(testing::TempDir()) / ("fx_runs_" + std::to_string(::getpid()) + ".db");
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file_.string() + end);
  }
  RunStore open() { return std::move(*RunStore::open(file_)); }
  static NewRun run(const std::string& id, const std::string& spec = "{}", const std::string& key = {},
                    bool force = false) {
    return {id, "/runs/" + id, spec, key, force};
  }
  static bool everyone_lives(const StoredRun&) { return true; }
  static bool nobody_lives(const StoredRun&) { return false; }
  std::filesystem::path file_;
};

TEST_F(RunStoreTest, ARunIsThereAfterReopening) {
  {
    auto store = open();
    ASSERT_TRUE(store.insert(run("a", R"({"x":1})")));
  }
  auto store = open();
  const auto found = store.get("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->record.state, RunState::kQueued);
  EXPECT_EQ(found->spec, R"({"x":1})");
  EXPECT_EQ(found->record.folder, "/runs/a");
  EXPECT_GT(found->record.created_ms, 0);
}

TEST_F(RunStoreTest, UnknownIdsAreNotFound) {
  auto store = open();
  for (const std::string id : {"", "a", "' OR 1=1 --", "../../etc"}) {
    const auto found = store.get(id);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  }
}

TEST_F(RunStoreTest, TheSameKeyAndSpecGiveTheSameRun) {
  auto store = open();
  ASSERT_TRUE(store.insert(run("a", "{}", "key")));
  const auto again = store.insert(run("b", "{}", "key"));
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->run.record.id, "a");
  EXPECT_FALSE(store.get("b"));
}

TEST_F(RunStoreTest, TheSameKeyWithAnotherSpecIsAConflict) {
  auto store = open();
  ASSERT_TRUE(store.insert(run("a", "{}", "key")));
  const auto other = store.insert(run("b", R"({"x":1})", "key"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  EXPECT_EQ(other.error().field, "idempotency_key");
}

TEST_F(RunStoreTest, OnlyOneLivingSupervisorCanClaimARun) {
  auto store = open();
  ASSERT_TRUE(store.insert(run("a")));
  EXPECT_TRUE(*store.claim("a", 100, "b1", everyone_lives));
  EXPECT_TRUE(*store.claim("a", 100, "b1", everyone_lives)) << "its own claim again";
  EXPECT_FALSE(*store.claim("a", 200, "b2", everyone_lives));
  EXPECT_TRUE(*store.claim("a", 200, "b2", nobody_lives)) << "the first one died";
  EXPECT_EQ(store.get("a")->supervisor, 200);
}

TEST_F(RunStoreTest, RunsBeginInTheOrderOfTheirCreation) {
  auto store = open();
  for (const auto* id : {"a", "b"}) {
    ASSERT_TRUE(store.insert(run(id)));
    ASSERT_TRUE(store.claim(id, 100, "x", nobody_lives));
  }
  EXPECT_FALSE(*store.begin_if_its_turn("b", everyone_lives)) << "a waits and is older";
  EXPECT_TRUE(*store.begin_if_its_turn("a", everyone_lives));
  EXPECT_EQ(store.get("a")->record.state, RunState::kRunning);
  EXPECT_FALSE(*store.begin_if_its_turn("b", everyone_lives)) << "a runs";
  ASSERT_TRUE(*store.finish("a", RunState::kSucceeded, ""));
  EXPECT_TRUE(*store.begin_if_its_turn("b", everyone_lives));
}

TEST_F(RunStoreTest, ADeadRunHoldsNobodyUp) {
  auto store = open();
  for (const auto* id : {"a", "b"}) {
    ASSERT_TRUE(store.insert(run(id)));
    ASSERT_TRUE(store.claim(id, 100, "x", nobody_lives));
  }
  ASSERT_TRUE(*store.begin_if_its_turn("a", everyone_lives));
  EXPECT_TRUE(*store.begin_if_its_turn("b", nobody_lives));
}

TEST_F(RunStoreTest, AForcedRunDoesNotWaitButOthersWaitForIt) {
  auto store = open();
  ASSERT_TRUE(store.insert(run("a")));
  ASSERT_TRUE(store.insert(run("now", "{}", "", true)));
  ASSERT_TRUE(store.insert(run("c")));
  for (const auto* id : {"a", "now", "c"}) ASSERT_TRUE(store.claim(id, 100, "x", nobody_lives));
  ASSERT_TRUE(*store.begin_if_its_turn("a", everyone_lives));
  EXPECT_TRUE(*store.begin_if_its_turn("now", everyone_lives));
  ASSERT_TRUE(*store.finish("a", RunState::kFailed, "x"));
  EXPECT_FALSE(*store.begin_if_its_turn("c", everyone_lives));
}

TEST_F(RunStoreTest, AnEndStateIsFinal) {
  auto store = open();
  ASSERT_TRUE(store.insert(run("a")));
  EXPECT_TRUE(*store.finish("a", RunState::kFailed, "rank 1 died", R"({"verdict":"failure"})"));
  EXPECT_FALSE(*store.finish("a", RunState::kSucceeded, ""));
  const auto found = store.get("a");
  EXPECT_EQ(found->record.state, RunState::kFailed);
  EXPECT_EQ(found->record.reason, "rank 1 died");
  EXPECT_EQ(found->record.diagnosis, R"({"verdict":"failure"})");
  EXPECT_GT(found->record.ended_ms, 0);
  EXPECT_FALSE(*store.claim("a", 1, "x", nobody_lives));
  EXPECT_FALSE(*store.begin_if_its_turn("a", nobody_lives));
}

TEST_F(RunStoreTest, TwoProcessesSeeOneOrder) {
  auto first = open();
  auto second = open();
  ASSERT_TRUE(first.insert(run("a")));
  ASSERT_TRUE(second.insert(run("b")));
  ASSERT_TRUE(first.claim("a", 1, "x", nobody_lives));
  ASSERT_TRUE(second.claim("b", 2, "y", nobody_lives));
  EXPECT_TRUE(*first.begin_if_its_turn("a", everyone_lives));
  EXPECT_FALSE(*second.begin_if_its_turn("b", everyone_lives));
  EXPECT_EQ(second.list(10)->front().record.id, "b");
  EXPECT_EQ(second.unfinished()->front().record.id, "a");
}

TEST(SupervisorAlive, TellsAReusedPidApart) {
  StoredRun stored;
  stored.supervisor = ::getpid();
  stored.supervisor_birth = process_birth(::getpid());
  EXPECT_TRUE(supervisor_alive(stored));
  stored.supervisor_birth += "0";
  EXPECT_FALSE(supervisor_alive(stored));
}

}  // namespace
}  // namespace fx::server
