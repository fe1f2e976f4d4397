#include "engine/data/packing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "engine/data/shuffle.h"

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
    for (const auto& piece : pack) {
      seen.insert(piece.document), tokens += file.length(piece.document);
      EXPECT_EQ(piece.length, static_cast<std::int64_t>(file.length(piece.document)));
    }
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

TEST(Packing, SplitsALongDocumentIntoPiecesThatCoverIt) {
  SplitMix random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::size_t> lengths;
    for (int i = 0; i < 20; ++i) lengths.push_back(2 + random.below(60));
    const auto file = file_with(lengths);
    const auto limit = static_cast<std::int64_t>(2 + random.below(20));
    const auto plan = pack_documents(file, {limit, random.below(2) == 0, 3, LongDocuments::kSplit});
    ASSERT_TRUE(plan);
    std::map<std::uint32_t, std::int64_t> covered;
    for (const auto& pack : plan->packs) {
      std::int64_t tokens = 0;
      for (const auto& piece : pack) covered[piece.document] += piece.length, tokens += piece.length;
      EXPECT_LE(tokens, limit);
    }
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      // The last token alone has no target: a piece of it is left out.
      const auto length = static_cast<std::int64_t>(lengths[i]);
      const std::int64_t rest = length % limit == 1 ? 1 : 0;
      EXPECT_EQ(covered[i], length - rest) << "limit " << limit;
    }
    EXPECT_EQ(plan->truncated, 0u);
  }
}

TEST(Packing, TheLabelAtACutIsTheNextPiecesFirstToken) {
  const fs::path path = fs::temp_directory_path() / ("fx_cut_" + std::to_string(::getpid()));
  ASSERT_TRUE(write_token_file(path, 10, {plain_document({1, 2, 3, 4, 5})}));
  const auto file = TokenFile::open(path);
  fs::remove(path);
  const auto second = tokens_of(*file, {0, 2, 2});
  EXPECT_EQ(std::vector<std::uint32_t>(second.ids.begin(), second.ids.end()), (std::vector<std::uint32_t>{3, 4}));
  EXPECT_EQ(std::vector<std::int32_t>(second.labels.begin(), second.labels.end()), (std::vector<std::int32_t>{4, 5}));
}

TEST(Packing, RefusesALongDocumentByName) {
  const auto plan = pack_documents(file_with({5, 20, 30}), {10, true, 0, LongDocuments::kRefuse});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("document 1 has 20 tokens, more than data.max_seq_len (10)"), std::string::npos);
  EXPECT_TRUE(pack_documents(file_with({5, 10}), {10, true, 0, LongDocuments::kRefuse}));
}

TEST(Packing, WithoutPackingEachDocumentIsAlone) {
  EXPECT_EQ(pack_documents(file_with({2, 2, 2}), {10, false, 0})->packs.size(), 3u);
}

TEST(Packing, NothingToTrainOnIsAnError) {
  EXPECT_FALSE(pack_documents(file_with({1, 1}), {10, true, 0}));
}

}  // namespace
}  // namespace fx::engine
