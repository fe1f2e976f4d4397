#include "engine/data/packing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace fx::engine {
namespace {

namespace fs = std::filesystem;

TokenFile file_with(const std::vector<std::size_t>& lengths) {
  std::vector<OwnedDocument> documents;
  for (const auto length : lengths) documents.push_back(plain_document(std::vector<std::uint32_t>(length, 1)));
  const fs::path path = fs::temp_directory_path() / ("fx_packing_" + std::to_string(::getpid()));
  EXPECT_TRUE(write_token_file(path, 10, documents));
  auto file = TokenFile::open(path);
  fs::remove(path);  // the mapping stays
  return std::move(*file);
}

TEST(Packing, PutsEachDocumentIntoTheFullestPackWithRoom) {
  const auto plan = pack_documents(file_with({6, 4, 5, 5, 7, 3}), {10, true, 1});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->packs.size(), 3u);
  EXPECT_DOUBLE_EQ(plan->fill(), 1.0);
}

TEST(Packing, KeepsEveryDocumentOnceAndWholeWithinTheLimit) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 500; ++i) lengths.push_back(2 + i * i % 97);
  const auto file = file_with(lengths);
  const auto plan = pack_documents(file, {128, true, 3});
  std::multiset<std::uint32_t> seen;
  for (const auto& pack : plan->packs) {
    std::uint64_t tokens = 0;
    for (const auto document : pack) seen.insert(document), tokens += file.length(document);
    EXPECT_LE(tokens, 128u);
  }
  EXPECT_EQ(seen.size(), 500u);
  EXPECT_EQ(std::set<std::uint32_t>(seen.begin(), seen.end()).size(), 500u);
  EXPECT_GT(plan->fill(), 0.97);
  EXPECT_EQ(plan->packs, pack_documents(file, {128, true, 3})->packs);
  EXPECT_NE(plan->packs, pack_documents(file, {128, true, 4})->packs);
}

TEST(Packing, CountsWhatItCutsAndLeavesOut) {
  const auto plan = pack_documents(file_with({20, 1, 5}), {10, true, 0});  // one token alone has no target
  EXPECT_EQ(plan->truncated, 1u);
  EXPECT_EQ(plan->skipped, 1u);
  EXPECT_EQ(plan->tokens, 15u);
}

TEST(Packing, WithoutPackingEachDocumentIsAlone) {
  EXPECT_EQ(pack_documents(file_with({2, 2, 2}), {10, false, 0})->packs.size(), 3u);
}

TEST(Packing, NothingToTrainOnIsAnError) {
  EXPECT_FALSE(pack_documents(file_with({1, 1}), {10, true, 0}));
}

}  // namespace
}  // namespace fx::engine
