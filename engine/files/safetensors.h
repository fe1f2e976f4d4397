// safetensors: the header of a file (read with every check a hostile file needs), and reads of row ranges.
// Format: u64 little-endian header length, JSON header, then one buffer that the tensors cover without hole or overlap.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/dtype.h"
#include "engine/files/file.h"

namespace fx::engine {

struct TensorInfo {
  std::string name;
  FileDtype dtype = FileDtype::kF32;
  std::vector<std::int64_t> shape;  // row-major; a row is everything behind dim 0 (a scalar is one row)
  std::uint64_t begin = 0;          // in the file, header included
  std::uint64_t bytes = 0;

  std::int64_t rows() const { return shape.empty() ? 1 : shape.front(); }
  std::int64_t row_elements() const;  // elements in one row
  std::uint64_t row_bytes() const { return static_cast<std::uint64_t>(row_elements()) * size_of(dtype); }
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in file order
  std::map<std::string, std::string> metadata;
  std::uint64_t data_begin = 0;  // bytes of length field and header together
  const TensorInfo* find(std::string_view name) const;
};

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

// Parses a header text; file_bytes is the size of the whole file. Messages name the tensor; field is file_name.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::uint64_t file_bytes,
                                                   const std::string& file_name);
// The length field and the header, padded with spaces to a multiple of 8: what a file begins with.
std::string print_safetensors_header(const SafetensorsHeader& header);

// One open file. Reads may run in several threads at once.
class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::filesystem::path& path);
  const SafetensorsHeader& header() const { return header_; }
  const std::filesystem::path& path() const { return file_.path(); }
  // Rows [first, first + count) of a tensor of this file, as they lie there: count * row_bytes() bytes.
  Result<void> read_rows(const TensorInfo& tensor, std::int64_t first, std::int64_t count,
                         std::span<std::byte> out) const;
  // The same as floats: count * row_elements() of them, converted from F32, BF16 or F16 in pieces of 4 MiB.
  Result<void> read_rows(const TensorInfo& tensor, std::int64_t first, std::int64_t count, std::span<float> out) const;

 private:
  SafetensorsFile(File file, SafetensorsHeader header) : file_(std::move(file)), header_(std::move(header)) {}
  File file_;
  SafetensorsHeader header_;
};

// The tensors of a new file in this order, placed one after the other; deterministic, so that every rank computes the
// same places without talking to the others. metadata gets {"format": "pt"}, which transformers asks for.
struct TensorPlan {
  std::string name;
  FileDtype dtype;
  std::vector<std::int64_t> shape;
};
SafetensorsHeader plan_safetensors(const std::vector<TensorPlan>& tensors);

// Makes the file with its header and reserves its space; the tensors' bytes are zeros until written. One process calls
// it.
Result<void> create_safetensors(const std::filesystem::path& path, const SafetensorsHeader& header);

// Writes rows into a file that create_safetensors() made. Any number of processes, each its own rows.
class SafetensorsWriter {
 public:
  // Checks that the file on disk is the one planned.
  static Result<SafetensorsWriter> open(const std::filesystem::path& path, const SafetensorsHeader& header);
  // count * row_bytes() bytes, already of the tensor's dtype. kNotFound for a name that is not in the plan.
  Result<void> write_rows(std::string_view name, std::int64_t first, std::int64_t count,
                          std::span<const std::byte> bytes);
  // count * row_elements() floats, converted to the tensor's dtype in pieces of 4 MiB.
  Result<void> write_rows(std::string_view name, std::int64_t first, std::int64_t count, std::span<const float> values);
  Result<void> sync() { return file_.sync(); }

 private:
  SafetensorsWriter(File file, SafetensorsHeader header) : file_(std::move(file)), header_(std::move(header)) {}
  File file_;
  SafetensorsHeader header_;
};

}  // namespace fx::engine
