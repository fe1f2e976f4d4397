// The token file: documents as token ids with the target of each position, made before a run and mapped by every rank.
//
// Little endian: 64-byte header, u64 offsets[documents + 1], u32 ids[tokens], i32 labels[tokens].
// Header: "FXTOKENS", u32 version (1), u32 vocab_size, u64 documents, u64 tokens, u64 trained (labels that are not
// -100), u32 max_seq_len it was cut to (0: not cut), u32 truncated documents, u32 split documents, u32 dropped
// documents, u64 0. labels[i] is the id that position i must predict (already shifted by one), or -100: not trained on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"

namespace fx::engine {

inline constexpr std::int32_t kIgnoredLabel = -100;

struct TokenFileInfo {
  std::uint32_t vocab_size = 0;  // of the tokenizer
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  std::uint64_t trained = 0;
  std::uint32_t max_seq_len = 0;
  std::uint32_t truncated = 0;  // documents that lost their tail
  std::uint32_t split = 0;      // source texts that became several documents
  std::uint32_t dropped = 0;    // source rows without anything to train on
};

struct Document {
  std::span<const std::uint32_t> ids;
  std::span<const std::int32_t> labels;  // as long as ids
};

// A mapped file; spans live as long as it does. Const members may be called from several threads.
class TokenFile {
 public:
  // Checks header, sizes and offsets. Ids and labels are checked when a micro-batch is made from them.
  static Result<TokenFile> open(const std::filesystem::path& path);
  TokenFile(TokenFile&& other) noexcept;
  TokenFile& operator=(TokenFile&& other) noexcept;
  ~TokenFile();

  const TokenFileInfo& info() const { return info_; }
  const std::filesystem::path& path() const { return path_; }
  std::uint64_t length(std::uint64_t document) const { return offsets_[document + 1] - offsets_[document]; }
  Document document(std::uint64_t index) const;  // index < info().documents

 private:
  TokenFile() = default;
  Result<void> check_layout(std::uint64_t bytes);
  Result<void> check_offsets() const;
  std::filesystem::path path_;
  TokenFileInfo info_;
  const std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  const std::uint64_t* offsets_ = nullptr;
  const std::uint32_t* ids_ = nullptr;
  const std::int32_t* labels_ = nullptr;
};

struct OwnedDocument {
  std::vector<std::uint32_t> ids;
  std::vector<std::int32_t> labels;
};
// Next-token labels for a document that is trained on as a whole: the last position has none.
OwnedDocument plain_document(std::vector<std::uint32_t> ids);
Result<void> write_token_file(const std::filesystem::path& path, std::uint32_t vocab_size,
                              const std::vector<OwnedDocument>& documents);

}  // namespace fx::engine
