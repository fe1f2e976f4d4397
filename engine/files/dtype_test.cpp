#include "engine/files/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace fx::engine {
namespace {

TEST(Dtype, EveryHalfSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float from_fp16 = float_from_fp16(half), from_bf16 = float_from_bf16(half);
    if (std::isnan(from_fp16)) {
      EXPECT_TRUE(std::isnan(float_from_fp16(fp16_from_float(from_fp16))));
    } else {
      ASSERT_EQ(fp16_from_float(from_fp16), half) << bits;
    }
    if (std::isnan(from_bf16)) {
      EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(from_bf16))));
    } else {
      ASSERT_EQ(bf16_from_float(from_bf16), half) << bits;
    }
  }
}

TEST(Dtype, RoundsTiesToEven) {
  EXPECT_EQ(bf16_from_float(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // half way, even below
  EXPECT_EQ(bf16_from_float(std::bit_cast<float>(0x3F818000u)), 0x3F82);  // half way, even above
  EXPECT_EQ(bf16_from_float(std::bit_cast<float>(0x3F808001u)), 0x3F81);
  EXPECT_EQ(fp16_from_float(2049.0f), 0x6800);  // between 2048 and 2050
  EXPECT_EQ(fp16_from_float(2051.0f), 0x6802);  // between 2050 and 2052
  EXPECT_EQ(fp16_from_float(65519.9f), 0x7BFF);
  EXPECT_EQ(fp16_from_float(65520.0f), 0x7C00);    // rounds to infinity
  EXPECT_EQ(fp16_from_float(0x1p-25f), 0x0000);    // half of the smallest, to even
  EXPECT_EQ(fp16_from_float(0x1.8p-24f), 0x0002);  // one and a half, to even
  EXPECT_EQ(fp16_from_float(-0.0f), 0x8000);
}

TEST(Dtype, RefusesToTrainIntegers) {
  std::vector<float> out(2);
  std::vector<std::byte> bytes(8);
  EXPECT_EQ(to_floats(FileDtype::kI32, bytes, out).error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(to_floats(FileDtype::kF32, bytes, out));
  EXPECT_EQ(parse_file_dtype("F4"), std::nullopt);
}

}  // namespace
}  // namespace fx::engine
