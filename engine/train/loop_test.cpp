// Whole runs on ranks that are threads: what goes wrong on one rank is an error on all of them.
#include "engine/train/loop.h"

#include <ATen/ATen.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "engine/comm/local.h"
#include "engine/data/token_file.h"
#include "engine/files/folder_testing.h"
#include "engine/files/hf_folder.h"
#include "engine/train/finite.h"
#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;
using testing::TinyModelFiles;

class LoopTest : public testing::ModelFolderTest {
 protected:
  void SetUp() override {
    ModelFolderTest::SetUp();
    write_model(root() / "model");
    std::vector<OwnedDocument> documents;
    for (std::uint32_t d = 0; d < 6; ++d) documents.push_back(plain_document({d, 3, 1, d, 9, 2, 5}));
    ASSERT_TRUE(write_token_file(root() / "tokens.bin", 10, documents));
  }

  RunSpec spec(int ranks, const std::string& output = "out") const {
    const Json json = {{"model", (root() / "model").string()},
                       {"data", {{"path", (root() / "tokens.bin").string()}, {"format", "tokens"}, {"max_seq_len", 8}}},
                       {"output", (root() / output).string()},
                       {"ranks", ranks},
                       {"steps", 3},
                       {"optimizer", {{"lr", 0.01}}},
                       {"fsdp", {{"param_dtype", "fp32"}}}};
    return parse_run_spec(json)->spec;
  }

  // Each rank's outcome: empty, or the error as one line. change: what is different on a rank.
  std::vector<std::string> run(const RunSpec& spec, const std::function<void(RunSpec&, int rank)>& change = {}) {
    std::vector<std::string> out(static_cast<std::size_t>(spec.ranks));
    const std::atomic<bool> stop{false};
    run_local_ranks(static_cast<int>(spec.ranks), [&](Collectives& comm) {
      RunSpec mine = spec;
      if (change) change(mine, comm.rank());
      const Reporter reporter(root() / "events.jsonl", comm.rank());
      const auto done = run_training(mine, comm, reporter, stop, make_model);
      if (!done) out[static_cast<std::size_t>(comm.rank())] = to_line(done.error());
    });
    return out;
  }

  void expect_everywhere(const std::vector<std::string>& errors, const std::string& text) {
    for (const auto& error : errors) EXPECT_NE(error.find(text), std::string::npos) << "\"" << error << "\"";
  }

  std::string events() const { return *read_file(root() / "events.jsonl"); }
  // Of all steps since the last call.
  std::vector<double> take_losses() const {
    std::vector<double> losses;
    for (const auto& event : read_events(events()).events) {
      if (const auto* step = std::get_if<StepEvent>(&event.body)) losses.push_back(step->loss);
    }
    fs::remove(root() / "events.jsonl");
    return losses;
  }
};

TEST_F(LoopTest, TrainsSavesAndResumesWithEmptyShards) {
  // Five rows of the MLP on four ranks: the last one owns none.
  RunSpec four = spec(4);
  four.checkpoint.every = 2;
  EXPECT_EQ(run(four), std::vector<std::string>(4));
  EXPECT_TRUE(HfFolder::open(root() / "out"));
  four.checkpoint.resume = true, four.steps = 4;
  EXPECT_EQ(run(four), std::vector<std::string>(4));
}

TEST_F(LoopTest, FilesOfSeveralDtypesTrainLikeOne) {
  TinyModelFiles mixed;
  mixed.dtype = [](std::string_view name) {
    return name.find("norm") != std::string_view::npos ? FileDtype::kF32
           : name == "lm_head.weight"                  ? FileDtype::kF16
                                                       : FileDtype::kBF16;
  };
  write_model(root() / "mixed", mixed);
  // The same numbers, all of them in fp32.
  const auto source = HfFolder::open(root() / "mixed");
  ASSERT_TRUE(source) << to_line(source.error());
  TinyModelFiles same;
  same.value = [&](const std::string& name, std::int64_t row, std::int64_t index) {
    std::vector<float> values(static_cast<std::size_t>(source->find(name)->row_elements()));
    EXPECT_TRUE(source->read_rows(name, row, 1, values));
    return values[static_cast<std::size_t>(index)];
  };
  write_model(root() / "fp32", same);
  std::vector<std::vector<double>> losses;
  for (const char* name : {"mixed", "fp32"}) {
    RunSpec each = spec(3, std::string(name) + "-out");
    each.model = (root() / name).string();
    EXPECT_EQ(run(each), std::vector<std::string>(3));
    losses.push_back(take_losses());
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[0].size(), 3u);
  const auto saved = HfFolder::open(root() / "mixed-out");
  ASSERT_TRUE(saved);
  for (const auto& parameter : parameters_of(shape())) {
    EXPECT_EQ(saved->find(parameter.name)->dtype, mixed.dtype(parameter.name)) << parameter.name;
  }
}

TEST_F(LoopTest, ADtypeThatIsNotTrainedIsNamedOnEveryRank) {
  TinyModelFiles doubles;
  doubles.dtype = [](std::string_view name) {
    return name == "model.layers.1.self_attn.k_proj.weight" ? FileDtype::kF64 : FileDtype::kBF16;
  };
  ASSERT_TRUE(HfOutput(plan_hf_output(shape(), doubles.dtype), root() / "model").create(source()));
  expect_everywhere(run(spec(3)), "model.layers.1.self_attn.k_proj.weight is of type F64");
}

TEST_F(LoopTest, AMissingParameterOrAWrongShapeIsNamedOnEveryRank) {
  TinyModelFiles files;
  files.change = [](ModelShape& model) { model.layers = 1; };
  write_model(root() / "model", files);
  expect_everywhere(run(spec(3)), "model.layers.1.");
  files.change = [](ModelShape& model) { model.intermediate = 6; };
  write_model(root() / "model", files);
  expect_everywhere(run(spec(3)), "model.layers.0.mlp.gate_proj.weight has shape [6, 8]");
}

TEST_F(LoopTest, AFolderThatOneRankAloneCannotReadIsAnErrorOnAll) {
  const auto errors = run(spec(3), [&](RunSpec& mine, int rank) {
    if (rank == 1) mine.model = (root() / "nowhere").string();
  });
  EXPECT_NE(errors[1].find("nowhere"), std::string::npos) << errors[1];
  for (const int rank : {0, 2}) {
    EXPECT_NE(errors[static_cast<std::size_t>(rank)].find("opening the model failed on rank 1"), std::string::npos);
  }
}

TEST_F(LoopTest, AnAdapterThatOneRankAloneCannotReadIsAnErrorOnAll) {
  RunSpec adapted = spec(3);
  adapted.lora.emplace();
  adapted.lora->alpha = 16;
  const auto errors = run(adapted, [&](RunSpec& mine, int rank) {
    if (rank == 2) mine.lora->adapter = (root() / "nowhere").string();
  });
  EXPECT_NE(errors[2].find("nowhere"), std::string::npos) << errors[2];
  EXPECT_NE(errors[0].find("loading the model failed on rank 2"), std::string::npos) << errors[0];
}

TEST_F(LoopTest, NumbersThatAreNoNumbersEndTheRunOnEveryRank) {
  TinyModelFiles files;
  files.value = [](const std::string& name, std::int64_t row, std::int64_t index) {
    const bool poisoned = name == "model.layers.1.mlp.up_proj.weight" && row == 0 && index == 3;
    return poisoned ? std::numeric_limits<float>::quiet_NaN() : std::sin(static_cast<float>(row + index)) * 0.3f;
  };
  write_model(root() / "model", files);
  expect_everywhere(run(spec(3)), "step 1: the loss is not finite");
}

TEST(NotFinite, NamesTheParameterWhereItIsSeenAndTheRankElsewhere) {
  run_local_ranks(3, [](Collectives& comm) {
    const auto model = make_model(testing::tiny(true));
    ShardedModel sharded(*model, testing::fp32_policy(), comm);
    testing::initialise(sharded);
    sharded.accumulate(testing::make_batch(0, comm.rank()), 1.0f);
    ParamGroup& group = *sharded.groups()[2];
    EXPECT_EQ(first_not_finite(sharded.groups()), "");
    if (comm.rank() == 1) group.rows_view(group.grad(), group.grad_layout(), 3).fill_(std::nan(""));
    EXPECT_TRUE(std::isnan(gradient_norm(sharded.groups(), sharded.mesh(), 2)));
    const std::string error = not_finite_error(7, 1.5, sharded.groups(), comm).message;
    EXPECT_NE(error.find(comm.rank() == 1 ? "nor the gradient of model.layers.1.self_attn.v_proj.weight"
                                          : "nor gradients on rank 1"),
              std::string::npos)
        << error;
  });
}

TEST_F(LoopTest, CheckpointsInTheBackgroundAreThoseWrittenAtOnce) {
  for (const bool background : {false, true}) {
    RunSpec saving = spec(2, background ? "later" : "now");
    saving.checkpoint.every = 1, saving.checkpoint.keep = 9, saving.checkpoint.async = background;
    EXPECT_EQ(run(saving), std::vector<std::string>(2));
  }
  for (const char* step : {"step_0000001", "step_0000002", "step_0000003"}) {
    EXPECT_TRUE(fs::exists(root() / "later/checkpoints" / step / "COMMITTED")) << step;
    EXPECT_EQ(*read_file(root() / "now/checkpoints" / step / "state.safetensors"),
              *read_file(root() / "later/checkpoints" / step / "state.safetensors"));
  }
  std::size_t reported = 0;
  for (const auto& event : read_events(events()).events) {
    if (const auto* saved = std::get_if<CheckpointEvent>(&event.body)) {
      reported += 1;
      EXPECT_GE(saved->seconds, 0);
      EXPECT_GT(saved->bytes, 0);
    }
  }
  EXPECT_EQ(reported, 6u);
}

TEST_F(LoopTest, AdaptersAreSavedAndTheBaseIsNotInTheirCheckpoint) {
  RunSpec adapted = spec(3);
  adapted.lora.emplace();
  adapted.lora->rank = 2, adapted.lora->alpha = 4;
  adapted.checkpoint.every = 3;
  EXPECT_EQ(run(adapted), std::vector<std::string>(3));
  EXPECT_TRUE(fs::exists(root() / "out/adapter_model.safetensors"));
  EXPECT_FALSE(fs::exists(root() / "out/model.safetensors"));
  const auto state = SafetensorsFile::open(root() / "out/checkpoints/step_0000003/state.safetensors");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->header().tensors.size(), 3u * 2 * 14);
  adapted.checkpoint.resume = true, adapted.steps = 4, adapted.ranks = 2, adapted.fsdp.shard = 2;
  EXPECT_EQ(run(adapted), std::vector<std::string>(2));
}

TEST(Layout, AScalarParameterIsRefusedByNameOnEveryRank) {
  run_local_ranks(3, [](Collectives& comm) {
    Mesh mesh(comm);
    try {
      ParamGroup group("g", {{"temperature", {}, true}}, {}, mesh);
      FAIL() << "a scalar was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("temperature"), std::string::npos);
    }
  });
}

}  // namespace
}  // namespace fx::engine
