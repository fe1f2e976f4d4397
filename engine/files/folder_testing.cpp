#include "engine/files/folder_testing.h"

#include <unistd.h>

#include <cmath>
#include <vector>

#include "base/file.h"

namespace fx::engine::testing {
namespace {

namespace fs = std::filesystem;
constexpr const char* kConfig = R"({"architectures":["LlamaForCausalLM"],"hidden_size":8,"num_hidden_layers":2,
  "num_attention_heads":2,"intermediate_size":5,"vocab_size":10,"torch_dtype":"float32"})";

float wave(const std::string&, std::int64_t row, std::int64_t index) {
  return std::sin(static_cast<float>(row * 41 + index * 7 + 1)) * 0.3f;
}

}  // namespace

void FolderTest::SetUp() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  root_ = fs::temp_directory_path() / ("fx_" + std::string(test->test_suite_name()) + "_" + std::to_string(::getpid()));
  fs::remove_all(root_);
  ASSERT_TRUE(make_folder(root_));
}

void FolderTest::TearDown() {
  fs::remove_all(root_);
}

std::string ModelFolderTest::config() {
  return kConfig;
}

ModelShape ModelFolderTest::shape() {
  return *read_model_shape_text(kConfig);
}

void ModelFolderTest::SetUp() {
  FolderTest::SetUp();
  ASSERT_TRUE(make_folder(source()));
  ASSERT_TRUE(write_file_atomic(source() / "config.json", kConfig));
  ASSERT_TRUE(write_file_atomic(source() / "tokenizer.json", "{}"));
}

void ModelFolderTest::write_model(const fs::path& folder, const TinyModelFiles& files) const {
  ModelShape model = shape();
  if (files.change) files.change(model);
  HfOutput out(plan_hf_output(model, files.dtype, files.max_file_bytes), folder);
  ASSERT_TRUE(out.create(source()));
  const auto opened = out.open();
  ASSERT_TRUE(opened) << to_line(opened.error());
  const auto& value = files.value ? files.value : wave;
  for (const auto& parameter : parameters_of(model)) {
    const std::int64_t width = parameter.count() / parameter.shape[0];
    std::vector<float> values;
    for (std::int64_t row = 0; row < parameter.shape[0]; ++row) {
      for (std::int64_t i = 0; i < width; ++i) values.push_back(value(parameter.name, row, i));
    }
    ASSERT_TRUE(out.write_rows(parameter.name, 0, parameter.shape[0], values));
  }
  ASSERT_TRUE(out.sync());
}

}  // namespace fx::engine::testing
