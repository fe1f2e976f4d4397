#include "engine/files/hf_folder.h"

#include "base/file.h"
#include "base/text.h"
#include "engine/files/folder_testing.h"
#include "engine/files/publish.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;

class HfFolderTest : public testing::ModelFolderTest {
 protected:
  // Values are row numbers.
  void write(const fs::path& folder, std::uint64_t max_file_bytes, FileDtype dtype = FileDtype::kF32) const {
    testing::TinyModelFiles files;
    files.dtype = [dtype](std::string_view) { return dtype; };
    files.max_file_bytes = max_file_bytes;
    files.value = [](const std::string&, std::int64_t row, std::int64_t) { return static_cast<float>(row); };
    write_model(folder, files);
  }
};

TEST_F(HfFolderTest, ReadsOneFileAndSeveralAlike) {
  write(root() / "one", 1 << 30);
  write(root() / "many", 1000, FileDtype::kBF16);
  EXPECT_FALSE(fs::exists(root() / "one/model.safetensors.index.json"));
  EXPECT_TRUE(fs::exists(root() / "many/model.safetensors.index.json"));
  EXPECT_NE(read_file(root() / "many/config.json")->find("bfloat16"), std::string::npos);
  for (const auto* name : {"one", "many"}) {
    const auto model = HfFolder::open(root() / name);
    ASSERT_TRUE(model) << to_line(model.error());
    std::vector<float> rows(16);
    ASSERT_TRUE(model->read_rows("lm_head.weight", 8, 2, rows));
    EXPECT_EQ(rows.front(), 8);
    EXPECT_EQ(rows.back(), 9);
    EXPECT_FALSE(model->read_rows("nothing", 0, 1, rows));
  }
}

TEST_F(HfFolderTest, ReportsEveryMissingOrMisshapenParameter) {
  write(root() / "one", 1 << 30);
  const std::string more = replace_all(config(), "\"num_hidden_layers\":2", "\"num_hidden_layers\":3");
  ASSERT_TRUE(
      write_file_atomic(root() / "one/config.json", replace_all(more, "\"vocab_size\":10", "\"vocab_size\":11")));
  const auto model = HfFolder::open(root() / "one");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().details.size(), 11u);
  EXPECT_NE(model.error().message.find("[10, 8]"), std::string::npos) << model.error().message;
}

TEST_F(HfFolderTest, IndexMayNotLeadOutOfTheFolder) {
  ASSERT_TRUE(
      write_file_atomic(source() / "model.safetensors.index.json", R"({"weight_map":{"a":"../../etc/passwd"}})"));
  const auto model = HfFolder::open(source());
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("names no file of this folder"), std::string::npos);
}

TEST_F(HfFolderTest, SaysWhichFileIsMissing) {
  EXPECT_EQ(HfFolder::open(root() / "nowhere").error().code, ErrorCode::kNotFound);
  EXPECT_NE(HfFolder::open(source()).error().message.find("neither model.safetensors"), std::string::npos);
}

TEST_F(HfFolderTest, PublishingReplacesAFolderInOneStep) {
  write(root() / "staging", 1 << 30);
  fs::create_directories(root() / "final");
  ASSERT_TRUE(write_file_atomic(root() / "final/old.txt", "x"));
  ASSERT_TRUE(publish_folder(root() / "staging", root() / "final"));
  EXPECT_TRUE(HfFolder::open(root() / "final"));
  EXPECT_FALSE(fs::exists(root() / "final/old.txt"));
  EXPECT_FALSE(fs::exists(root() / "staging"));
}

TEST_F(HfFolderTest, PublishingFilesKeepsTheRestAndDropsOldWeights) {
  write(root() / "final", 1000);
  ASSERT_TRUE(write_file_atomic(root() / "final/notes.txt", "x"));
  write(root() / "staging", 1 << 30);
  ASSERT_TRUE(publish_files(root() / "staging", root() / "final"));
  EXPECT_TRUE(HfFolder::open(root() / "final"));
  EXPECT_TRUE(fs::exists(root() / "final/notes.txt"));
  EXPECT_FALSE(fs::exists(root() / "final/model.safetensors.index.json"));
  EXPECT_FALSE(fs::exists(root() / "staging"));
}

}  // namespace
}  // namespace fx::engine
