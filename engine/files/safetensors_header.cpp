#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "engine/files/safetensors.h"

namespace fx::engine {
namespace {

constexpr std::size_t kMaxDims = 16;

std::string tensor_named(std::string_view name) {
  return "tensor \"" + quote_input(name, 120) + "\"";
}

// Collects the tensors while the JSON is read, without a document in memory: a header may be 100 MB. Stops at the first
// thing that no safetensors file holds.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
  std::string problem;

  bool start_object(std::size_t) override {
    if (++depth_ == 1) return true;
    if (depth_ > 2 || in_array_) return fail("nested deeper than a safetensors header is");
    in_metadata_ = root_key_ == "__metadata__";
    if (!in_metadata_) {
      tensors.emplace_back().name = root_key_;
      has_dtype_ = has_shape_ = false;
      offsets_.clear();
    }
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2 && !in_metadata_) {
      if (!has_dtype_ || !has_shape_ || offsets_.size() != 2) {
        return fail(tensor_named(root_key_) + " needs dtype, shape and two data_offsets");
      }
      if (offsets_[0] > offsets_[1]) return fail(tensor_named(root_key_) + " ends before it begins");
      tensors.back().begin = offsets_[0];
      tensors.back().bytes = offsets_[1] - offsets_[0];
    }
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      root_key_ = name;
    } else {
      inner_key_ = name;
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (in_array_ || depth_ != 2 || in_metadata_) return fail("a list where none belongs");
    in_array_ = true;
    if (inner_key_ == "shape") has_shape_ = true;
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (!in_array_) return fail("a number where none belongs");
    if (inner_key_ == "data_offsets") {
      offsets_.push_back(value);
      return offsets_.size() <= 2 || fail(tensor_named(root_key_) + " has more than two data_offsets");
    }
    if (inner_key_ != "shape") return true;
    auto& shape = tensors.back().shape;
    if (shape.size() == kMaxDims) return fail(tensor_named(root_key_) + " has more than 16 dimensions");
    if (value > static_cast<std::uint64_t>(INT64_MAX)) return fail(tensor_named(root_key_) + " has an impossible size");
    shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ != 2 || in_array_) return fail("a string where none belongs");
    if (in_metadata_) {
      metadata[inner_key_] = value;
    } else if (inner_key_ == "dtype") {
      const auto dtype = parse_file_dtype(value);
      if (!dtype) return fail(tensor_named(root_key_) + " has the unknown dtype \"" + quote_input(value, 20) + "\"");
      tensors.back().dtype = *dtype;
      has_dtype_ = true;
    }
    return true;
  }
  bool number_integer(std::int64_t) override { return fail("a negative number where none belongs"); }
  bool number_float(double, const std::string&) override { return fail("a fraction where none belongs"); }
  bool null() override { return fail("null where nothing like it belongs"); }
  bool boolean(bool) override { return fail("a boolean where none belongs"); }
  bool binary(nlohmann::json::binary_t&) override { return fail("bytes where none belong"); }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception&) override {
    return fail("not valid JSON at byte " + std::to_string(byte));
  }

 private:
  bool fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }
  int depth_ = 0;
  bool in_array_ = false, in_metadata_ = false, has_dtype_ = false, has_shape_ = false;
  std::string root_key_, inner_key_;
  std::vector<std::uint64_t> offsets_;
};

// Empty when the tensor's byte count is what shape and dtype ask for.
std::string size_problem(const TensorInfo& tensor) {
  std::uint64_t bytes = size_of(tensor.dtype);
  for (const auto size : tensor.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
      return tensor_named(tensor.name) + ": its shape is larger than any file";
    }
  }
  if (bytes == tensor.bytes) return {};
  return tensor_named(tensor.name) + ": shape and dtype need " + std::to_string(bytes) + " bytes, the file gives " +
         std::to_string(tensor.bytes);
}

// Sorts by place and checks that the tensors cover the buffer. Empty when they do.
std::string cover_problem(std::vector<TensorInfo>& tensors, std::uint64_t buffer_bytes) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.bytes < b.bytes;
  });
  std::uint64_t end = 0;
  std::set<std::string_view> names;
  for (const auto& tensor : tensors) {
    if (!names.insert(tensor.name).second) return tensor_named(tensor.name) + " is listed twice";
    if (tensor.begin < end) return tensor_named(tensor.name) + " overlaps the one before it";
    if (tensor.begin > end) return "unused bytes before " + tensor_named(tensor.name);
    if (tensor.bytes > buffer_bytes - end) return tensor_named(tensor.name) + " reaches past the end of the file";
    end += tensor.bytes;
  }
  if (end != buffer_bytes) return std::to_string(buffer_bytes - end) + " unused bytes at the end of the file";
  return {};
}

}  // namespace

std::int64_t TensorInfo::row_elements() const {
  std::int64_t product = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) product *= shape[i];
  return product;
}

const TensorInfo* SafetensorsHeader::find(std::string_view name) const {
  for (const auto& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::uint64_t file_bytes,
                                                   const std::string& file_name) {
  const auto bad = [&](const std::string& what) {
    return invalid_argument(file_name, "not a usable safetensors file: " + what, "copy or download the file again");
  };
  const std::uint64_t data_begin = 8 + json.size();
  if (data_begin > file_bytes) return bad("the header is longer than the file");
  if (json.empty() || json.front() != '{') return bad("the header is no JSON object");
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(json, &reader)) return bad(reader.problem);
  SafetensorsHeader header{std::move(reader.tensors), std::move(reader.metadata), data_begin};
  // A size that overflows 64 bits is refused before anything is computed from it.
  for (const auto& tensor : header.tensors) {
    const auto problem = size_problem(tensor);
    if (!problem.empty()) return bad(problem);
  }
  const auto problem = cover_problem(header.tensors, file_bytes - data_begin);
  if (!problem.empty()) return bad(problem);
  for (auto& tensor : header.tensors) tensor.begin += data_begin;
  return header;
}

std::string print_safetensors_header(const SafetensorsHeader& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json["__metadata__"] = header.metadata;
  std::uint64_t at = 0;
  for (const auto& tensor : header.tensors) {
    // push_back: the names are known to differ, and operator[] would search all of them each time.
    json.get_ref<nlohmann::ordered_json::object_t&>().push_back(
        {tensor.name,
         {{"dtype", to_string(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.bytes}}}});
    at += tensor.bytes;
  }
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>((text.size() >> (8 * i)) & 0xFFu);
  return out + text;
}

SafetensorsHeader plan_safetensors(const std::vector<TensorPlan>& tensors) {
  SafetensorsHeader header;
  header.metadata = {{"format", "pt"}};
  std::uint64_t at = 0;
  for (const auto& plan : tensors) {
    TensorInfo tensor{plan.name, plan.dtype, plan.shape, at, 0};
    tensor.bytes = static_cast<std::uint64_t>(tensor.rows()) * tensor.row_bytes();
    at += tensor.bytes;
    header.tensors.push_back(std::move(tensor));
  }
  header.data_begin = print_safetensors_header(header).size();
  for (auto& tensor : header.tensors) tensor.begin += header.data_begin;
  return header;
}

}  // namespace fx::engine
