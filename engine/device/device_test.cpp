#include "engine/device/device.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/train/loop.h"

namespace fx::engine {
namespace {

// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Device, IsTheCpuWhereThereIsNoOtherAndSaysWhyNot) {
  if (cuda_devices() > 0) GTEST_SKIP() << "there is a CUDA device here";
  EXPECT_EQ(choose_device()->type(), at::kCPU);
  const Variable wish("FX_DEVICE", "cuda");
  const auto device = choose_device();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(device.error().message.find(why_no_cuda()), std::string::npos);
}

TEST(Device, RefusesAnUnknownOne) {
  const Variable wish("FX_DEVICE", "tpu");
  const auto device = choose_device();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().field, "FX_DEVICE");
}

TEST(Supported, OffloadIsRefusedOnTheCpuWithTheReasonAndTakenOnCuda) {
  RunSpec spec;
  spec.data.format = "tokens";
  spec.fsdp.cpu_offload = true;
  const auto refused = check_supported(spec, 1, at::kCPU);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "fsdp.cpu_offload");
  EXPECT_NE(refused.error().message.find("in host memory already"), std::string::npos);
  EXPECT_TRUE(check_supported(spec, 1, at::Device(at::kCUDA, 0)));
}

}  // namespace
}  // namespace fx::engine
