#include "engine/data/token_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/file.h"

namespace fx::engine {
namespace {

constexpr std::size_t kHeaderBytes = 64;
constexpr char kMagic[9] = "FXTOKENS";
constexpr std::uint32_t kVersion = 1;

struct RawHeader {
  char magic[8];
  std::uint32_t version, vocab_size;
  std::uint64_t documents, tokens, trained;
  std::uint32_t max_seq_len, truncated, split, dropped;
  std::uint64_t reserved;
};
static_assert(sizeof(RawHeader) == kHeaderBytes);

Error bad_file(const std::filesystem::path& path, const std::string& what) {
  return invalid_argument(path.string(), "not a usable token file: " + what, "make it again from the source data");
}

template <class T>
void append(std::string& out, const T* values, std::size_t count) {
  if (count > 0) out.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

}  // namespace

TokenFile::TokenFile(TokenFile&& other) noexcept {
  *this = std::move(other);
}

TokenFile& TokenFile::operator=(TokenFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(info_, other.info_);
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(offsets_, other.offsets_);
  std::swap(ids_, other.ids_);
  std::swap(labels_, other.labels_);
  return *this;
}

TokenFile::~TokenFile() {
  if (mapped_ != nullptr) ::munmap(const_cast<std::byte*>(mapped_), mapped_bytes_);
}

Result<TokenFile> TokenFile::open(const std::filesystem::path& path) {
  TokenFile file;
  file.path_ = path;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    Error error = errno == ENOENT ? not_found("cannot open: no such file", "check the path")
                                  : unavailable(std::string("cannot open: ") + std::strerror(errno));
    error.field = path.string();
    return error;
  }
  struct stat status {};
  const bool regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const auto bytes = regular ? static_cast<std::uint64_t>(status.st_size) : 0;
  void* mapped = bytes < kHeaderBytes ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (bytes < kHeaderBytes) return bad_file(path, regular ? "too short" : "not a regular file");
  if (mapped == MAP_FAILED) return unavailable("cannot map " + path.string());
  file.mapped_ = static_cast<const std::byte*>(mapped);
  file.mapped_bytes_ = bytes;
  if (auto checked = file.check_layout(bytes); !checked) return checked.error();
  if (auto checked = file.check_offsets(); !checked) return checked.error();
  return file;
}

Result<void> TokenFile::check_layout(std::uint64_t bytes) {
  RawHeader raw;
  std::memcpy(&raw, mapped_, sizeof(raw));
  if (std::memcmp(raw.magic, kMagic, 8) != 0) return bad_file(path_, "it does not begin with FXTOKENS");
  if (raw.version != kVersion) {
    return bad_file(path_, "version " + std::to_string(raw.version) + ", this program reads version 1");
  }
  // Each count is bounded by the file's size first, so that the products below cannot overflow.
  if (raw.tokens > bytes / 8 || raw.documents > bytes / 8 ||
      kHeaderBytes + (raw.documents + 1) * 8 + raw.tokens * 8 != bytes) {
    return bad_file(path_, std::to_string(raw.documents) + " documents and " + std::to_string(raw.tokens) +
                               " tokens do not make " + std::to_string(bytes) + " bytes");
  }
  if (raw.documents > std::numeric_limits<std::uint32_t>::max()) return bad_file(path_, "more than 2^32 documents");
  info_ = {raw.vocab_size,  raw.documents, raw.tokens, raw.trained,
           raw.max_seq_len, raw.truncated, raw.split,  raw.dropped};
  const std::byte* at = mapped_ + kHeaderBytes;
  offsets_ = reinterpret_cast<const std::uint64_t*>(at);
  ids_ = reinterpret_cast<const std::uint32_t*>(at + (raw.documents + 1) * 8);
  labels_ = reinterpret_cast<const std::int32_t*>(at + (raw.documents + 1) * 8 + raw.tokens * 4);
  return {};
}

Result<void> TokenFile::check_offsets() const {
  if (offsets_[0] != 0 || offsets_[info_.documents] != info_.tokens) {
    return bad_file(path_, "its documents do not cover its tokens");
  }
  for (std::uint64_t i = 0; i < info_.documents; ++i) {
    if (offsets_[i + 1] <= offsets_[i])
      return bad_file(path_, "document " + std::to_string(i) + " is empty or ends early");
    if (offsets_[i + 1] > info_.tokens)
      return bad_file(path_, "document " + std::to_string(i) + " ends past the tokens");
  }
  return {};
}

Document TokenFile::document(std::uint64_t index) const {
  return {{ids_ + offsets_[index], length(index)}, {labels_ + offsets_[index], length(index)}};
}

OwnedDocument plain_document(std::vector<std::uint32_t> ids) {
  OwnedDocument out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    out.labels.push_back(i + 1 < ids.size() ? static_cast<std::int32_t>(ids[i + 1]) : kIgnoredLabel);
  }
  out.ids = std::move(ids);
  return out;
}

Result<void> write_token_file(const std::filesystem::path& path, std::uint32_t vocab_size,
                              const std::vector<OwnedDocument>& documents) {
  RawHeader raw{};
  std::memcpy(raw.magic, kMagic, 8);
  raw.version = kVersion;
  raw.vocab_size = vocab_size;
  raw.documents = documents.size();
  std::vector<std::uint64_t> offsets = {0};
  std::string ids, labels;
  for (const auto& document : documents) {
    if (document.ids.size() != document.labels.size() || document.ids.empty()) {
      return invalid_argument(path.string(), "document " + std::to_string(offsets.size() - 1) +
                                                 " is empty, or its labels do not match its ids");
    }
    offsets.push_back(offsets.back() + document.ids.size());
    for (const auto label : document.labels) raw.trained += label != kIgnoredLabel ? 1 : 0;
    append(ids, document.ids.data(), document.ids.size());
    append(labels, document.labels.data(), document.labels.size());
  }
  raw.tokens = offsets.back();
  std::string text;
  append(text, &raw, 1);
  append(text, offsets.data(), offsets.size());
  return write_file_atomic(path, text + ids + labels);
}

}  // namespace fx::engine
