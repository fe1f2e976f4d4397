#include "engine/files/hf_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "engine/files/hf_output.h"
#include "engine/files/publish.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;
constexpr const char* kConfig = R"({"architectures":["LlamaForCausalLM"],"hidden_size":8,"num_hidden_layers":2,
  "num_attention_heads":2,"intermediate_size":12,"vocab_size":10,"torch_dtype":"float32"})";

class HfFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("fx_hf_" + std::to_string(::getpid()));
    fs::create_directories(root_ / "source");
    ASSERT_TRUE(write_file_atomic(root_ / "source/config.json", kConfig));
    ASSERT_TRUE(write_file_atomic(root_ / "source/tokenizer.json", "{}"));
  }
  void TearDown() override { fs::remove_all(root_); }
  // A whole model whose parameter values are their row numbers.
  void write_model(const fs::path& folder, FileDtype dtype, std::uint64_t max_file_bytes) {
    const auto shape = read_model_shape_text(kConfig);
    HfOutput out(plan_hf_output(*shape, dtype, max_file_bytes), folder);
    ASSERT_TRUE(out.create(root_ / "source"));
    const auto opened = out.open();
    ASSERT_TRUE(opened) << to_line(opened.error());
    for (const auto& parameter : parameters_of(*shape)) {
      const std::int64_t width = parameter.count() / parameter.shape[0];
      for (std::int64_t row = 0; row < parameter.shape[0]; ++row) {
        const std::vector<float> values(static_cast<std::size_t>(width), static_cast<float>(row));
        ASSERT_TRUE(out.write_rows(parameter.name, row, 1, values));
      }
    }
    ASSERT_TRUE(out.sync());
  }
  fs::path root_;
};

TEST_F(HfFolderTest, ReadsOneFileAndSeveralAlike) {
  write_model(root_ / "one", FileDtype::kF32, 1 << 30);
  write_model(root_ / "many", FileDtype::kBF16, 1000);
  EXPECT_FALSE(fs::exists(root_ / "one/model.safetensors.index.json"));
  EXPECT_TRUE(fs::exists(root_ / "many/model.safetensors.index.json"));
  EXPECT_NE(read_file(root_ / "many/config.json")->find("bfloat16"), std::string::npos);
  for (const auto* name : {"one", "many"}) {
    const auto model = HfFolder::open(root_ / name);
    ASSERT_TRUE(model) << to_line(model.error());
    std::vector<float> rows(16);
    ASSERT_TRUE(model->read_rows("lm_head.weight", 8, 2, rows));
    EXPECT_EQ(rows.front(), 8);
    EXPECT_EQ(rows.back(), 9);
    EXPECT_FALSE(model->read_rows("nothing", 0, 1, rows));
  }
}

TEST_F(HfFolderTest, ReportsEveryMissingOrMisshapenParameter) {
  write_model(root_ / "one", FileDtype::kF32, 1 << 30);
  std::string config = replace_all(kConfig, "\"num_hidden_layers\":2", "\"num_hidden_layers\":3");
  ASSERT_TRUE(
      write_file_atomic(root_ / "one/config.json", replace_all(config, "\"vocab_size\":10", "\"vocab_size\":11")));
  const auto model = HfFolder::open(root_ / "one");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().details.size(), 11u);
  EXPECT_NE(model.error().message.find("[10, 8]"), std::string::npos) << model.error().message;
}

TEST_F(HfFolderTest, IndexMayNotLeadOutOfTheFolder) {
  ASSERT_TRUE(
      write_file_atomic(root_ / "source/model.safetensors.index.json", R"({"weight_map":{"a":"../../etc/passwd"}})"));
  const auto model = HfFolder::open(root_ / "source");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("names no file of this folder"), std::string::npos);
}

TEST_F(HfFolderTest, SaysWhichFileIsMissing) {
  EXPECT_EQ(HfFolder::open(root_ / "nowhere").error().code, ErrorCode::kNotFound);
  EXPECT_NE(HfFolder::open(root_ / "source").error().message.find("neither model.safetensors"), std::string::npos);
}

TEST_F(HfFolderTest, PublishingReplacesAFolderInOneStep) {
  write_model(root_ / "staging", FileDtype::kF32, 1 << 30);
  fs::create_directories(root_ / "final");
  ASSERT_TRUE(write_file_atomic(root_ / "final/old.txt", "x"));
  ASSERT_TRUE(publish_folder(root_ / "staging", root_ / "final"));
  EXPECT_TRUE(HfFolder::open(root_ / "final"));
  EXPECT_FALSE(fs::exists(root_ / "final/old.txt"));
  EXPECT_FALSE(fs::exists(root_ / "staging"));
}

TEST_F(HfFolderTest, PublishingFilesKeepsTheRestAndDropsOldWeights) {
  write_model(root_ / "final", FileDtype::kF32, 1000);
  ASSERT_TRUE(write_file_atomic(root_ / "final/notes.txt", "x"));
  write_model(root_ / "staging", FileDtype::kF32, 1 << 30);
  ASSERT_TRUE(publish_files(root_ / "staging", root_ / "final"));
  EXPECT_TRUE(HfFolder::open(root_ / "final"));
  EXPECT_TRUE(fs::exists(root_ / "final/notes.txt"));
  EXPECT_FALSE(fs::exists(root_ / "final/model.safetensors.index.json"));
  EXPECT_FALSE(fs::exists(root_ / "staging"));
}

}  // namespace
}  // namespace fx::engine
