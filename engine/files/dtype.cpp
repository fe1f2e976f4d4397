#include "engine/files/dtype.h"

#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

namespace fx::engine {
namespace {

struct DtypeRow {
  FileDtype dtype;
  std::string_view name;
  std::size_t size;
};
constexpr std::array<DtypeRow, 15> kTable = {{{FileDtype::kF64, "F64", 8},
                                              {FileDtype::kF32, "F32", 4},
                                              {FileDtype::kBF16, "BF16", 2},
                                              {FileDtype::kF16, "F16", 2},
                                              {FileDtype::kI64, "I64", 8},
                                              {FileDtype::kI32, "I32", 4},
                                              {FileDtype::kI16, "I16", 2},
                                              {FileDtype::kI8, "I8", 1},
                                              {FileDtype::kU64, "U64", 8},
                                              {FileDtype::kU32, "U32", 4},
                                              {FileDtype::kU16, "U16", 2},
                                              {FileDtype::kU8, "U8", 1},
                                              {FileDtype::kBool, "BOOL", 1},
                                              {FileDtype::kF8E4M3, "F8_E4M3", 1},
                                              {FileDtype::kF8E5M2, "F8_E5M2", 1}}};

const DtypeRow& row_of(FileDtype dtype) {
  for (const auto& row : kTable) {
    if (row.dtype == dtype) return row;
  }
  throw std::logic_error("file dtype without a row in the table");
}

template <class Bits, class Convert>
void read_each(std::span<const std::byte> source, std::span<float> out, Convert convert) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, source.data() + i * sizeof(Bits), sizeof(Bits));
    out[i] = convert(bits);
  }
}

template <class Convert>
void write_each(std::span<const float> source, std::span<std::byte> out, Convert convert) {
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::uint16_t bits = convert(source[i]);
    std::memcpy(out.data() + i * sizeof(bits), &bits, sizeof(bits));
  }
}

Error not_a_float(FileDtype dtype) {
  return unsupported("", "weights of type " + std::string(to_string(dtype)) + " cannot be trained",
                     "use F32, BF16 or F16 weights");
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "tensor files are little endian");

std::string_view to_string(FileDtype dtype) {
  return row_of(dtype).name;
}
std::size_t size_of(FileDtype dtype) {
  return row_of(dtype).size;
}

std::optional<FileDtype> parse_file_dtype(std::string_view text) {
  for (const auto& row : kTable) {
    if (row.name == text) return row.dtype;
  }
  return std::nullopt;
}

std::uint16_t bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t fp16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // 65536 and above
  if (magnitude < 0x38800000u) {
    // Below the smallest normal half: adding 0.5 lines the half's last bit up with the float's, rounding as it goes.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u));
  }
  const std::uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float float_from_fp16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1Fu, fraction = bits & 0x3FFu;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

Result<void> to_floats(FileDtype dtype, std::span<const std::byte> source, std::span<float> out) {
  if (source.size() != out.size() * size_of(dtype)) throw std::logic_error("to_floats: sizes differ");
  if (dtype == FileDtype::kF32) {
    if (!out.empty()) std::memcpy(out.data(), source.data(), source.size());
  } else if (dtype == FileDtype::kBF16) {
    read_each<std::uint16_t>(source, out, float_from_bf16);
  } else if (dtype == FileDtype::kF16) {
    read_each<std::uint16_t>(source, out, float_from_fp16);
  } else if (dtype == FileDtype::kF64) {
    read_each<double>(source, out, [](double value) { return static_cast<float>(value); });
  } else {
    return not_a_float(dtype);
  }
  return {};
}

Result<void> from_floats(FileDtype dtype, std::span<const float> source, std::span<std::byte> out) {
  if (out.size() != source.size() * size_of(dtype)) throw std::logic_error("from_floats: sizes differ");
  if (dtype == FileDtype::kF32) {
    if (!out.empty()) std::memcpy(out.data(), source.data(), out.size());
  } else if (dtype == FileDtype::kBF16) {
    write_each(source, out, bf16_from_float);
  } else if (dtype == FileDtype::kF16) {
    write_each(source, out, fp16_from_float);
  } else {
    return not_a_float(dtype);
  }
  return {};
}

}  // namespace fx::engine
