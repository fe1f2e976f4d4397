#include "engine/files/safetensors.h"

#include <algorithm>
#include <stdexcept>

#include "base/text.h"

namespace fx::engine {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;

Result<SafetensorsHeader> read_header(const File& file) {
  const std::string name = file.path().string();
  if (file.size() < 10) return invalid_argument(name, "too short for a safetensors file", "copy or download it again");
  std::byte raw[8];
  if (auto read = file.read_at(0, raw); !read) return read.error();
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = (length << 8) | static_cast<std::uint64_t>(raw[i]);
  if (length > kMaxHeaderBytes || length > file.size() - 8) {
    return invalid_argument(name, "not a safetensors file: it claims a header of " + std::to_string(length) + " bytes",
                            "give a .safetensors file");
  }
  std::string json(length, '\0');
  if (auto read = file.read_at(8, std::as_writable_bytes(std::span(json))); !read) return read.error();
  return parse_safetensors_header(json, file.size(), name);
}

// The caller asked for rows that the tensor does not have, or gave a buffer of another size: our own mistake.
void check_range(const TensorInfo& tensor, std::int64_t first, std::int64_t count, std::uint64_t given_elements) {
  if (first < 0 || count < 0 || count > tensor.rows() - first)
    throw std::logic_error("rows out of range: " + tensor.name);
  if (given_elements != static_cast<std::uint64_t>(count * tensor.row_elements())) {
    throw std::logic_error("buffer does not fit the rows: " + tensor.name);
  }
}

std::uint64_t place_of(const TensorInfo& tensor, std::int64_t first) {
  return tensor.begin + static_cast<std::uint64_t>(first) * tensor.row_bytes();
}

// Calls work(byte offset, first element, elements) for pieces small enough to convert in a side buffer.
template <class Work>
Result<void> in_pieces(const TensorInfo& tensor, std::int64_t first, std::size_t elements, Work work) {
  const std::size_t step = static_cast<std::size_t>(kPieceBytes) / size_of(tensor.dtype);
  for (std::size_t at = 0; at < elements; at += step) {
    const std::size_t count = std::min(step, elements - at);
    if (auto done = work(place_of(tensor, first) + at * size_of(tensor.dtype), at, count); !done) return done;
  }
  return {};
}

Error with_tensor(Error error, const File& file, const TensorInfo& tensor) {
  error.message = "tensor \"" + quote_input(tensor.name, 120) + "\": " + error.message;
  error.field = file.path().string();
  return error;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  auto file = File::open_to_read(path);
  if (!file) return file.error();
  auto header = read_header(*file);
  if (!header) return header.error();
  return SafetensorsFile(std::move(*file), std::move(*header));
}

Result<void> SafetensorsFile::read_rows(const TensorInfo& tensor, std::int64_t first, std::int64_t count,
                                        std::span<std::byte> out) const {
  check_range(tensor, first, count, out.size() / size_of(tensor.dtype));
  if (auto read = file_.read_at(place_of(tensor, first), out); !read) return with_tensor(read.error(), file_, tensor);
  return {};
}

Result<void> SafetensorsFile::read_rows(const TensorInfo& tensor, std::int64_t first, std::int64_t count,
                                        std::span<float> out) const {
  check_range(tensor, first, count, out.size());
  std::vector<std::byte> piece;
  auto read = in_pieces(tensor, first, out.size(), [&](std::uint64_t offset, std::size_t at, std::size_t n) {
    piece.resize(n * size_of(tensor.dtype));
    if (auto got = file_.read_at(offset, piece); !got) return got;
    return to_floats(tensor.dtype, piece, out.subspan(at, n));
  });
  if (!read) return with_tensor(read.error(), file_, tensor);
  return {};
}

Result<void> create_safetensors(const std::filesystem::path& path, const SafetensorsHeader& header) {
  const std::string text = print_safetensors_header(header);
  std::uint64_t bytes = text.size();
  for (const auto& tensor : header.tensors) bytes += tensor.bytes;
  auto file = File::create(path, bytes);
  if (!file) return file.error();
  return file->write_at(0, std::as_bytes(std::span(text)));
}

Result<SafetensorsWriter> SafetensorsWriter::open(const std::filesystem::path& path, const SafetensorsHeader& header) {
  auto file = File::open_to_write(path);
  if (!file) return file.error();
  const auto there = read_header(*file);
  if (!there) return there.error();
  if (print_safetensors_header(*there) != print_safetensors_header(header)) {
    return Error{ErrorCode::kConflict,
                 "the file on disk is not the one this rank planned to write",
                 "all ranks need the same model, dtype and output",
                 path.string(),
                 {}};
  }
  return SafetensorsWriter(std::move(*file), header);
}

Result<void> SafetensorsWriter::write_rows(std::string_view name, std::int64_t first, std::int64_t count,
                                           std::span<const std::byte> bytes) {
  const TensorInfo* tensor = header_.find(name);
  if (tensor == nullptr) return not_found("no tensor \"" + quote_input(name, 120) + "\" in " + file_.path().string());
  check_range(*tensor, first, count, bytes.size() / size_of(tensor->dtype));
  return file_.write_at(place_of(*tensor, first), bytes);
}

Result<void> SafetensorsWriter::write_rows(std::string_view name, std::int64_t first, std::int64_t count,
                                           std::span<const float> values) {
  const TensorInfo* tensor = header_.find(name);
  if (tensor == nullptr) return not_found("no tensor \"" + quote_input(name, 120) + "\" in " + file_.path().string());
  check_range(*tensor, first, count, values.size());
  std::vector<std::byte> piece;
  return in_pieces(*tensor, first, values.size(), [&](std::uint64_t offset, std::size_t at, std::size_t n) {
    piece.resize(n * size_of(tensor->dtype));
    if (auto done = from_floats(tensor->dtype, values.subspan(at, n), piece); !done) return done;
    return file_.write_at(offset, piece);
  });
}

}  // namespace fx::engine
