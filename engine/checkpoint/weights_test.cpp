// How much of a model's files each rank reads: its own rows, counted by the kernel.
#include "engine/checkpoint/weights.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>
#include <optional>

#include "engine/checkpoint/checkpoint.h"
#include "engine/comm/local.h"
#include "engine/files/folder_testing.h"
#include "engine/files/peft_folder.h"
#include "engine/lora/adapted_model.h"
#include "engine/lora/adapters.h"
#include "engine/train/step_testing.h"

namespace fx::engine {
namespace {

// What this thread has read from files since the meter was made.
class ReadMeter {
 public:
  ReadMeter() : begin_(look()) {}
  std::int64_t bytes() const { return look().total - begin_.total - begin_.own; }
  static bool works() { return look().total >= 0; }

 private:
  struct Look {
    std::int64_t total = -1;
    std::int64_t own = 0;  // read by looking itself, which the next look sees
  };
  static Look look() {
    char text[512] = {};
    const int file = ::open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC);
    const auto length = file < 0 ? 0 : ::read(file, text, sizeof text - 1);
    if (file >= 0) ::close(file);
    constexpr std::string_view kKey = "rchar: ";
    if (length <= 0 || !std::string_view(text).starts_with(kKey)) return {};
    return {std::strtoll(text + kKey.size(), nullptr, 10), length};
  }
  Look begin_;
};

struct Reading {
  std::vector<std::int64_t> bytes;  // of each rank
  std::int64_t sum() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }
};

class WeightsTest : public testing::ModelFolderTest {
 protected:
  void SetUp() override {
    if (!ReadMeter::works()) GTEST_SKIP() << "this kernel counts no reads of threads";
    ModelFolderTest::SetUp();
    testing::TinyModelFiles sharded;
    sharded.dtype = [](std::string_view) { return FileDtype::kBF16; };
    sharded.max_file_bytes = 600;
    write_model(root() / "one");
    write_model(root() / "sharded", sharded);
  }

  // body(sharded model of this rank, comm): what it reads is measured.
  template <class Prepare, class Body>
  Reading measure(int ranks, const StepPolicy& policy, const Prepare& prepare, const Body& body,
                  const std::optional<LoraSpec>& lora = {}) const {
    Reading out;
    out.bytes.resize(static_cast<std::size_t>(ranks));
    run_local_ranks(ranks, [&](Collectives& comm) {
      const auto model = with_adapters(make_model(shape()), shape(), lora);
      ShardedModel sharded(*model, policy, comm);
      const auto prepared = prepare(sharded);
      const ReadMeter meter;
      body(sharded, prepared);
      out.bytes[static_cast<std::size_t>(comm.rank())] = meter.bytes();
    });
    return out;
  }

  Reading load(const std::string& name, int ranks, const StepPolicy& policy = {}) const {
    return measure(
        ranks, policy, [&](ShardedModel&) { return HfFolder::open(root() / name); },
        [](ShardedModel& sharded, const Result<HfFolder>& folder) {
          ASSERT_TRUE(folder) << to_line(folder.error());
          EXPECT_TRUE(load_weights(*folder, sharded.groups()));
        });
  }

  // Bytes of the rows that a rank owns, when `parts` ranks share the parameters.
  static std::int64_t owned(const std::vector<ParameterShape>& parameters, int part, int parts, std::int64_t width) {
    std::int64_t bytes = 0;
    for (const auto& parameter : parameters) {
      bytes += rows_of(parameter.shape[0], part, parts).count() * parameter.count() / parameter.shape[0] * width;
    }
    return bytes;
  }
};

TEST_F(WeightsTest, EachRankReadsItsOwnRowsAndNothingElse) {
  for (const auto& [name, width] : {std::pair<std::string, std::int64_t>{"one", 4}, {"sharded", 2}}) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
      const Reading read = load(name, ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(read.bytes[static_cast<std::size_t>(rank)], owned(parameters_of(shape()), rank, ranks, width))
            << name << ", rank " << rank << " of " << ranks;
      }
      EXPECT_EQ(read.sum(), owned(parameters_of(shape()), 0, 1, width)) << "no byte is read twice";
    }
  }
}

TEST_F(WeightsTest, CopiesReadTheirOwnShares) {
  StepPolicy policy;
  policy.replicate = 2;
  const Reading read = load("sharded", 4, policy);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(read.bytes[static_cast<std::size_t>(rank)], owned(parameters_of(shape()), rank % 2, 2, 2));
  }
}

TEST_F(WeightsTest, OpeningAFolderReadsNoWeights) {
  const ReadMeter meter;
  const auto folder = HfFolder::open(root() / "one");
  const std::int64_t bytes = meter.bytes();
  ASSERT_TRUE(folder);
  const auto file = static_cast<std::int64_t>(std::filesystem::file_size(root() / "one/model.safetensors"));
  const auto config = static_cast<std::int64_t>(std::filesystem::file_size(root() / "one/config.json"));
  EXPECT_EQ(bytes, file - owned(parameters_of(shape()), 0, 1, 4) + config);
}

TEST_F(WeightsTest, OfAnAdapterAndItsBaseEachRankReadsItsOwnRows) {
  LoraSpec lora;
  lora.rank = 3, lora.alpha = 6, lora.adapter = (root() / "adapter").string();
  const auto adapters = adapters_of(shape(), lora);
  ASSERT_TRUE(create_peft_folder(root() / "adapter", plan_adapter_file(adapters), lora, source()));
  std::vector<ParameterShape> matrices;
  for (const auto& adapter : adapters) matrices.insert(matrices.end(), {adapter.a, adapter.b});
  const auto header =
      static_cast<std::int64_t>(std::filesystem::file_size(root() / "adapter/adapter_model.safetensors") +
                                std::filesystem::file_size(root() / "adapter/adapter_config.json")) -
      owned(matrices, 0, 1, 4);
  const Reading read = measure(
      3, {}, [&](ShardedModel&) { return HfFolder::open(root() / "sharded"); },
      [&](ShardedModel& sharded, const Result<HfFolder>& folder) {
        ASSERT_TRUE(load_weights(*folder, sharded.groups(), Weights::kFrozen));
        ASSERT_TRUE(load_adapters(shape(), lora, 1, sharded.groups()));
      },
      lora);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(read.bytes[static_cast<std::size_t>(rank)],
              owned(parameters_of(shape()), rank, 3, 2) + owned(matrices, rank, 3, 4) + header);
  }
}

TEST_F(WeightsTest, ResumingReadsAShareOfTheCheckpoint) {
  run_local_ranks(2, [&](Collectives& comm) {
    const auto model = make_model(shape());
    ShardedModel sharded(*model, {}, comm);
    AdamW optimizer({}, sharded.groups());
    ASSERT_TRUE(save_checkpoint(root() / "checkpoints", 1, 1, sharded.groups(), optimizer, sharded.mesh()));
  });
  const auto newest = newest_checkpoint(root() / "checkpoints");
  ASSERT_TRUE(newest);
  const std::int64_t all = 3 * owned(parameters_of(shape()), 0, 1, 4);  // weights and two moments
  const auto header = static_cast<std::int64_t>(std::filesystem::file_size(newest->folder / "state.safetensors")) - all;
  const Reading read = measure(
      3, {}, [](ShardedModel& sharded) { return AdamW({}, sharded.groups()); },
      [&](ShardedModel& sharded, AdamW optimizer) {
        ASSERT_TRUE(load_checkpoint(*newest, sharded.groups(), optimizer, sharded.mesh()));
      });
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(read.bytes[static_cast<std::size_t>(rank)], 3 * owned(parameters_of(shape()), rank, 3, 4) + header);
  }
}

}  // namespace
}  // namespace fx::engine
