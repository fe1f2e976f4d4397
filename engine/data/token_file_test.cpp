#include "engine/data/token_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "base/file.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;

class TokenFileTest : public ::testing::Test {
 protected:
  void SetUp() override { path_ = fs::temp_directory_path() / ("fx_tokens_" + std::to_string(::getpid())); }
  void TearDown() override { fs::remove(path_); }
  fs::path path_;
};

TEST_F(TokenFileTest, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(write_token_file(path_, 100, {plain_document({1, 2, 3}), {{7}, {kIgnoredLabel}}}));
  const auto file = TokenFile::open(path_);
  ASSERT_TRUE(file) << to_line(file.error());
  EXPECT_EQ(file->info().documents, 2u);
  EXPECT_EQ(file->info().trained, 2u);
  const Document first = file->document(0);
  EXPECT_EQ(std::vector<std::int32_t>(first.labels.begin(), first.labels.end()),
            (std::vector<std::int32_t>{2, 3, -100}));
  EXPECT_EQ(file->document(1).ids.front(), 7u);
}

TEST_F(TokenFileTest, RefusesDamagedFiles) {
  ASSERT_TRUE(write_token_file(path_, 100, {plain_document({1, 2, 3}), plain_document({4, 5})}));
  const std::string good = *read_file(path_);
  const auto refused = [&](std::string text) { return write_file_atomic(path_, text) && !TokenFile::open(path_); };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused(good.substr(0, good.size() - 1)));
  EXPECT_TRUE(refused(good + "x"));
  std::string text = good;
  text[0] = 'X';
  EXPECT_TRUE(refused(text));
  text = good, text[8] = 2;
  EXPECT_TRUE(refused(text));
  text = good, text[23] = '\x7f';  // documents near 2^63
  EXPECT_TRUE(refused(text));
  text = good, text[64 + 8] = 9;  // the first document ends past the last
  EXPECT_TRUE(refused(text));
  EXPECT_EQ(TokenFile::open("/nowhere/x").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace fx::engine
