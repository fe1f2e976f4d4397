// What tests that need files share: a folder of their own, and a tiny model to put into it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "engine/files/hf_output.h"

namespace fx::engine::testing {

// Each test has an empty folder, which is removed after it.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

// How the files of a tiny model differ from what its config.json says: two blocks, hidden size 8, five rows in the MLP.
struct TinyModelFiles {
  DtypeOf dtype = [](std::string_view) { return FileDtype::kF32; };
  std::uint64_t max_file_bytes = std::uint64_t{1} << 30;
  std::function<void(ModelShape&)> change = {};
  // Of element `index` of a row.
  std::function<float(const std::string& parameter, std::int64_t row, std::int64_t index)> value = {};
};

// source() holds config.json and a tokenizer file, but no weights.
class ModelFolderTest : public FolderTest {
 protected:
  void SetUp() override;
  std::filesystem::path source() const { return root() / "source"; }
  static std::string config();  // the text of config.json
  static ModelShape shape();
  // A folder that holds the whole model.
  void write_model(const std::filesystem::path& folder, const TinyModelFiles& files = {}) const;
};

}  // namespace fx::engine::testing
