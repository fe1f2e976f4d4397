// Whole runs on ranks that are threads: what goes wrong on one rank is an error on all of them.
#include "engine/train/loop.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "engine/comm/local.h"
#include "engine/data/token_file.h"
#include "engine/files/hf_folder.h"
#include "engine/files/hf_output.h"
#include "engine/train/finite.h"
#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;
constexpr const char* kConfig = R"({"architectures":["LlamaForCausalLM"],"hidden_size":8,"num_hidden_layers":2,
  "num_attention_heads":2,"intermediate_size":5,"vocab_size":10,"torch_dtype":"float32"})";

class LoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("fx_loop_" + std::to_string(::getpid()));
    fs::remove_all(root_);
    ASSERT_TRUE(make_folder(root_));
    ASSERT_TRUE(write_file_atomic(root_ / "config.json", kConfig));
    write_model("model");
    std::vector<OwnedDocument> documents;
    for (std::uint32_t d = 0; d < 6; ++d) documents.push_back(plain_document({d, 3, 1, d, 9, 2, 5}));
    ASSERT_TRUE(write_token_file(root_ / "tokens.bin", 10, documents));
  }
  void TearDown() override { fs::remove_all(root_); }

  // change: makes the plan of the files another one; poison: a value of one weight.
  void write_model(const std::string& name, const std::function<void(ModelShape&)>& change = {},
                   FileDtype dtype = FileDtype::kF32, float poison = 0) {
    auto shape = *read_model_shape_text(kConfig);
    if (change) change(shape);
    HfOutput out(plan_hf_output(shape, dtype), root_ / name);
    ASSERT_TRUE(out.create(root_));
    ASSERT_TRUE(out.open());
    for (const auto& parameter : parameters_of(shape)) {
      std::vector<float> values(static_cast<std::size_t>(parameter.count()));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i * 7 + 1)) * 0.3f;
      if (poison != 0 && parameter.name == "model.layers.1.mlp.up_proj.weight") values[3] = poison;
      ASSERT_TRUE(out.write_rows(parameter.name, 0, parameter.shape[0], values));
    }
    ASSERT_TRUE(out.sync());
  }

  RunSpec spec(int ranks, const std::string& output = "out") const {
    const Json json = {{"model", (root_ / "model").string()},
                       {"data", {{"path", (root_ / "tokens.bin").string()}, {"format", "tokens"}, {"max_seq_len", 8}}},
                       {"output", (root_ / output).string()},
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
      const Reporter reporter(root_ / "events.jsonl", comm.rank());
      const auto done = run_training(mine, comm, reporter, stop, make_model);
      if (!done) out[static_cast<std::size_t>(comm.rank())] = to_line(done.error());
    });
    return out;
  }

  void expect_everywhere(const std::vector<std::string>& errors, const std::string& text) {
    for (const auto& error : errors) EXPECT_NE(error.find(text), std::string::npos) << "\"" << error << "\"";
  }

  std::string events() const { return *read_file(root_ / "events.jsonl"); }
  fs::path root_;
};

TEST_F(LoopTest, TrainsSavesAndResumesWithEmptyShards) {
  // Five rows of the MLP on four ranks: the last one owns none.
  RunSpec four = spec(4);
  four.checkpoint.every = 2;
  EXPECT_EQ(run(four), std::vector<std::string>(4));
  EXPECT_TRUE(HfFolder::open(root_ / "out"));
  four.checkpoint.resume = true, four.steps = 4;
  EXPECT_EQ(run(four), std::vector<std::string>(4));
}

TEST_F(LoopTest, FilesOfSeveralDtypesTrainLikeOne) {
  write_model("other", {}, FileDtype::kBF16);
  RunSpec bf16 = spec(2, "bf16");
  bf16.model = (root_ / "other").string();
  EXPECT_EQ(run(bf16), std::vector<std::string>(2));
  EXPECT_EQ(HfFolder::open(root_ / "bf16")->find("lm_head.weight")->dtype, FileDtype::kBF16);
}

TEST_F(LoopTest, AMissingParameterOrAWrongShapeIsNamedOnEveryRank) {
  write_model("model", [](ModelShape& shape) { shape.layers = 1; });
  expect_everywhere(run(spec(3)), "model.layers.1.");
  write_model("model", [](ModelShape& shape) { shape.intermediate = 6; });
  expect_everywhere(run(spec(3)), "model.layers.0.mlp.gate_proj.weight has shape [6, 8]");
}

TEST_F(LoopTest, AFolderThatOneRankAloneCannotReadIsAnErrorOnAll) {
  const auto errors = run(spec(3), [&](RunSpec& mine, int rank) {
    if (rank == 1) mine.model = (root_ / "nowhere").string();
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
    if (rank == 2) mine.lora->adapter = (root_ / "nowhere").string();
  });
  EXPECT_NE(errors[2].find("nowhere"), std::string::npos) << errors[2];
  EXPECT_NE(errors[0].find("loading the model failed on rank 2"), std::string::npos) << errors[0];
}

TEST_F(LoopTest, NumbersThatAreNoNumbersEndTheRunOnEveryRank) {
  write_model("model", {}, FileDtype::kF32, std::numeric_limits<float>::quiet_NaN());
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
    EXPECT_TRUE(fs::exists(root_ / "later/checkpoints" / step / "COMMITTED")) << step;
    EXPECT_EQ(*read_file(root_ / "now/checkpoints" / step / "state.safetensors"),
              *read_file(root_ / "later/checkpoints" / step / "state.safetensors"));
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
  EXPECT_TRUE(fs::exists(root_ / "out/adapter_model.safetensors"));
  EXPECT_FALSE(fs::exists(root_ / "out/model.safetensors"));
  const auto state = SafetensorsFile::open(root_ / "out/checkpoints/step_0000003/state.safetensors");
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
