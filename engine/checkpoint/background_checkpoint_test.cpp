#include "engine/checkpoint/background_checkpoint.h"

#include <ATen/ATen.h>

#include "engine/comm/local.h"
#include "engine/files/folder_testing.h"
#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

class BackgroundCheckpointTest : public testing::FolderTest {
 protected:
  // The tiny model with its optimizer on each of several ranks.
  template <class Body>
  void on_ranks(int ranks, const Body& body) {
    run_local_ranks(ranks, [&](Collectives& comm) {
      const auto model = make_model(testing::tiny(true));
      ShardedModel sharded(*model, testing::fp32_policy(), comm);
      testing::initialise(sharded);
      AdamW optimizer({}, sharded.groups());
      body(sharded, optimizer, comm);
    });
  }
};

TEST_F(BackgroundCheckpointTest, HoldsTheStateAsItWasWhenItBegan) {
  on_ranks(3, [&](ShardedModel& sharded, AdamW& optimizer, Collectives&) {
    BackgroundCheckpoint saver(root(), 0, sharded.groups(), optimizer, sharded.mesh());
    const at::Tensor rows = sharded.groups()[1]->weight_rows(1), then = rows.clone();
    ASSERT_TRUE(saver.start(4));
    for (auto& group : sharded.groups()) group->master().add_(1);  // training goes on
    const auto saved = saver.finish();
    ASSERT_TRUE(saved && *saved) << to_line(saved.error());
    EXPECT_EQ((*saved)->step, 4);
    EXPECT_GT((*saved)->bytes, 0);
    EXPECT_GE((*saved)->stall_seconds, 0);
    ASSERT_TRUE(load_checkpoint(*newest_checkpoint(root()), sharded.groups(), optimizer, sharded.mesh()));
    EXPECT_TRUE(rows.equal(then));
    EXPECT_EQ(optimizer.steps_done(), 4);
    ASSERT_TRUE(saver.start(5));  // the copy's memory is used again
    ASSERT_TRUE(saver.finish());
    EXPECT_EQ(newest_checkpoint(root())->step, 5);
  });
}

TEST_F(BackgroundCheckpointTest, DoesNotCountBeforeItIsCommitted) {
  on_ranks(2, [&](ShardedModel& sharded, AdamW& optimizer, Collectives& comm) {
    {
      BackgroundCheckpoint saver(root(), 0, sharded.groups(), optimizer, sharded.mesh());
      ASSERT_TRUE(saver.start(1));
      ASSERT_TRUE(saver.finish());
      ASSERT_TRUE(saver.start(2));
      comm.barrier("writing");
      EXPECT_EQ(newest_checkpoint(root())->step, 1);
      comm.barrier("looked");
    }  // the run ends here, its second checkpoint written or not
    EXPECT_EQ(newest_checkpoint(root())->step, 1);
  });
}

TEST_F(BackgroundCheckpointTest, IsCommittedAfterAStepInWhichAllRanksHaveWritten) {
  on_ranks(2, [&](ShardedModel& sharded, AdamW& optimizer, Collectives&) {
    BackgroundCheckpoint saver(root(), 1, sharded.groups(), optimizer, sharded.mesh());
    for (const long long step : {1, 2}) {
      ASSERT_TRUE(saver.start(step));
      for (bool committed = false; !committed;) {
        const auto saved = saver.after_step();
        ASSERT_TRUE(saved);
        committed = saved->has_value();
      }
    }
    EXPECT_EQ(complete_checkpoints(root()).size(), 1u);
    const auto nothing = saver.after_step();
    EXPECT_TRUE(nothing && !*nothing);
  });
}

TEST_F(BackgroundCheckpointTest, AFailedWriterIsAnErrorOnEveryRankThatNamesIt) {
  on_ranks(3, [&](ShardedModel& sharded, AdamW& optimizer, Collectives& comm) {
    // Rank 1 holds another model: it finds out when it opens the file that rank 0 has made.
    const auto other = make_model(testing::tiny(false));
    ShardedModel wrong(*other, testing::fp32_policy(), comm);
    AdamW wrong_optimizer({}, wrong.groups());
    const bool is_wrong = comm.rank() == 1;
    BackgroundCheckpoint saver(root(), 0, is_wrong ? wrong.groups() : sharded.groups(),
                               is_wrong ? wrong_optimizer : optimizer, sharded.mesh());
    ASSERT_TRUE(saver.start(1));
    const auto saved = saver.finish();
    ASSERT_FALSE(saved);
    const std::string message = to_line(saved.error());
    EXPECT_NE(message.find(comm.rank() == 1 ? "planned to write" : "writing the checkpoint failed on rank 1"),
              std::string::npos)
        << message;
    EXPECT_FALSE(newest_checkpoint(root()));
  });
}

TEST_F(BackgroundCheckpointTest, AHalfRemovedCheckpointOfTheSameStepIsWrittenAnew) {
  on_ranks(2, [&](ShardedModel& sharded, AdamW& optimizer, Collectives&) {
    for (int round = 0; round < 2; ++round) {
      const auto bytes = save_checkpoint(root(), 3, 2, sharded.groups(), optimizer, sharded.mesh());
      ASSERT_TRUE(bytes);
      ASSERT_TRUE(load_checkpoint(*newest_checkpoint(root()), sharded.groups(), optimizer, sharded.mesh()));
    }
  });
}

}  // namespace
}  // namespace fx::engine
