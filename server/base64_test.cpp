#include "server/base64.h"

#include <gtest/gtest.h>

namespace fx::server {
namespace {

TEST(Base64, DecodesPaddedText) {
  EXPECT_EQ(decode_base64("SGVsbG8="), "Hello");
  EXPECT_EQ(decode_base64("SGVsbG8sIOS4lueVjA=="), "Hello, 世界");
  EXPECT_EQ(decode_base64(""), "");
}

TEST(Base64, RefusesWhatIsNotBase64) {
  for (const char* text : {"SGVsbG8", "SGVs bG8=", "====", "A===", "SGV=bG8=", "SGVsbG8*"})
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace fx::server
