#include <gtest/gtest.h>

#include "knowledge/plan/gpu.h"

namespace fx::knowledge::plan {
namespace {

std::string match(const char* name) {
  const auto gpu = find_gpu(name);
  return gpu ? gpu->name : "error " + gpu.error().field;
}

TEST(Gpu, EveryRowFindsItself) {
  for (const auto& gpu : gpu_table()) EXPECT_EQ(match(gpu.name.c_str()), gpu.name);
}

TEST(Gpu, NamesMayDifferInCaseVendorAndForm) {
  EXPECT_EQ(match("NVIDIA A100-SXM4-80GB"), "A100-80GB-SXM");
  EXPECT_EQ(match("a100 40 GB"), "A100-40GB-SXM");
  EXPECT_EQ(match("NVIDIA A100 80GB PCIe"), "A100-80GB-PCIe");
  EXPECT_EQ(match("h100"), "H100-80GB-SXM");
  EXPECT_EQ(match("H100-94GB"), "H100-94GB-SXM");
  EXPECT_EQ(match("NVIDIA GeForce RTX 4090"), "RTX-4090-24GB");
  EXPECT_EQ(match("rtx3090"), "RTX-3090-24GB");
  EXPECT_EQ(match("Tesla V100-SXM2-16GB"), "V100-16GB-SXM");
  EXPECT_EQ(match("RTX-6000-Ada-48GB"), "RTX-6000-Ada-48GB");
  EXPECT_EQ(match("A6000-48GB"), "RTX-A6000-48GB");
  EXPECT_EQ(match("AMD Instinct MI300X"), "MI300X-192GB");
}

TEST(Gpu, AnUnknownNameIsAnErrorAtItsField) {
  EXPECT_EQ(match("TPU v5"), "error hardware.gpu");
  EXPECT_EQ(match(""), "error hardware.gpu");
}

TEST(Gpu, AnUnknownNameThatSpeaksOfAChipNamesIt) {
  const auto hint = [](const char* name) { return find_gpu(name).error().hint; };
  EXPECT_NE(hint("h100x8").find("H100-80GB-SXM"), std::string::npos);
  EXPECT_NE(hint("RTX 6000").find("RTX-6000-Ada-48GB"), std::string::npos);
}

TEST(Gpu, EveryRowHasUsableNumbers) {
  for (const auto& gpu : gpu_table()) {
    EXPECT_GT(gpu.memory_gib, 9) << gpu.name;
    EXPECT_LT(gpu.memory_gib, gpu.nominal_gb) << gpu.name;
    EXPECT_LT(gpu.gemm_tflops, gpu.peak_tflops) << gpu.name;
    EXPECT_LT(gpu.attention_tflops, gpu.gemm_tflops) << gpu.name;
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
  }
}

}  // namespace
}  // namespace fx::knowledge::plan
