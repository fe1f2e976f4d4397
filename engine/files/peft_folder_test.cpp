#include "engine/files/peft_folder.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "engine/files/folder_testing.h"
#include "engine/files/publish.h"
#include "spec/json.h"

namespace fx::engine {
namespace {

class PeftFolderTest : public testing::ModelFolderTest {
 protected:
  void SetUp() override {
    ModelFolderTest::SetUp();
    lora_.rank = 2, lora_.alpha = 3, lora_.dropout = 0.125, lora_.target_modules = {"q_proj", "down_proj"};
    const auto made = create_peft_folder(root() / "adapter", plan_adapter_file(adapters()), lora_, source());
    ASSERT_TRUE(made) << to_line(made.error());
  }
  std::vector<AdapterShape> adapters() const { return adapters_of(shape(), lora_); }
  Result<PeftFolder> open() const { return PeftFolder::open(root() / "adapter", lora_, adapters()); }
  void change_config(const std::function<void(Json&)>& change) {
    Json config = *parse_json(*read_file(root() / "adapter/adapter_config.json"));
    change(config);
    ASSERT_TRUE(write_file_atomic(root() / "adapter/adapter_config.json", to_text(config)));
  }
  LoraSpec lora_;
};

TEST_F(PeftFolderTest, OpensWhatItMade) {
  const auto folder = open();
  ASSERT_TRUE(folder) << to_line(folder.error());
  std::vector<float> row(8, 1);
  EXPECT_TRUE(folder->read_rows("base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight", 1, 1, row));
  EXPECT_EQ(row, std::vector<float>(8, 0));
  EXPECT_TRUE(std::filesystem::exists(root() / "adapter/tokenizer.json"));
  const Json config = *parse_json(*read_file(root() / "adapter/adapter_config.json"));
  EXPECT_EQ(config["lora_alpha"], 3);
  EXPECT_EQ(config["lora_dropout"], 0.125);
  EXPECT_EQ(config["target_modules"], Json({"q_proj", "down_proj"}));
}

TEST_F(PeftFolderTest, NamesWhatDoesNotFitTheRun) {
  lora_.rank = 4, lora_.alpha = 8;
  auto folder = open();
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().details.size(), 2u);
  EXPECT_NE(folder.error().message.find("r is 2, the run asks for 4"), std::string::npos) << folder.error().message;
  lora_.rank = 2, lora_.alpha = 3, lora_.target_modules = {"q_proj"};
  EXPECT_NE(open().error().message.find("does not adapt"), std::string::npos);
  lora_.target_modules = {"q_proj", "down_proj", "up_proj"};
  EXPECT_NE(open().error().message.find("layers.0.mlp.up_proj.lora_A"), std::string::npos);
}

TEST_F(PeftFolderTest, RefusesKindsOfAdapterThatComputeSomethingElse) {
  change_config([](Json& config) { config["use_dora"] = true, config["bias"] = "all"; });
  const auto folder = open();
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(folder.error().details.size(), 2u);
}

TEST_F(PeftFolderTest, PublishingAnAdapterIntoAModelFolderLeavesTheModelAlone) {
  ASSERT_TRUE(write_file_atomic(source() / "model.safetensors", "weights"));
  ASSERT_TRUE(publish_files(root() / "adapter", source()));
  EXPECT_TRUE(std::filesystem::exists(source() / "model.safetensors"));
  EXPECT_TRUE(PeftFolder::open(source(), lora_, adapters()));
}

}  // namespace
}  // namespace fx::engine
