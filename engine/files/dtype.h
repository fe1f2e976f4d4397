// Element types of tensor files, and conversions between the float kinds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace fx::engine {

enum class FileDtype { kF64, kF32, kBF16, kF16, kI64, kI32, kI16, kI8, kU64, kU32, kU16, kU8, kBool, kF8E4M3, kF8E5M2 };

std::string_view to_string(FileDtype dtype);  // safetensors names: "BF16"
std::optional<FileDtype> parse_file_dtype(std::string_view text);
std::size_t size_of(FileDtype dtype);  // bytes an element

// Round to nearest, ties to even; NaN stays NaN. All bytes little endian.
std::uint16_t bf16_from_float(float value);
float float_from_bf16(std::uint16_t bits);
std::uint16_t fp16_from_float(float value);
float float_from_fp16(std::uint16_t bits);

// source: whole elements of dtype; out: as many floats. kUnsupported unless dtype is F32, BF16, F16 or F64.
Result<void> to_floats(FileDtype dtype, std::span<const std::byte> source, std::span<float> out);
// out: as many elements of dtype as source has. kUnsupported unless dtype is F32, BF16 or F16.
Result<void> from_floats(FileDtype dtype, std::span<const float> source, std::span<std::byte> out);

}  // namespace fx::engine
