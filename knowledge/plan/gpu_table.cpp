#include "knowledge/plan/gpu.h"

namespace fx::knowledge::plan {

// Sources: SB = stas00/ml-engineering accelerator tables and matmul measurements; LF = lightning throughput tables; GP
// = gpu_poor; DS = vendor datasheet. gemm_tflops: SB's best measured matmul, lowered to what the power limit leaves for
// real (not zero or constant) data: about 0.95 of it on Ampere, 0.75 - 0.8 on Hopper and Blackwell; 0.8 of the peak
// where SB has none, 0.7 on cards of 300 W and less. attention_tflops: FlashAttention-2 class kernels, causal: 0.42 of
// the peak on Ampere and Ada, 0.28 on Hopper, where the kernel does not use the newer matrix instructions. On
// Blackwell's servers that kernel does no more TFLOPs, 300, while cuDNN, which PyTorch prefers there, does 1,235
// forward and about 1,000 in training (FlashAttention-4's paper: 1,605, 1.3 times cuDNN): the middle, by factors. fp8:
// SB's best fp8 product over its best bf16 product on Hopper (1402 over 795), 1.5 where SB has none. link_gb_s: 0.8 of
// the one-way figure for NVLink; for PCIe without peer access 0.35 of it, because each byte passes through host memory
// twice. Desktop processors have 16 lanes for graphics, so two GeForce cards (and the A5000, sold for desktops) share
// them: 8 lanes each.
const std::vector<Gpu>& gpu_table() {
  constexpr auto kNv = Link::kNvlink;
  constexpr auto kPc = Link::kPcie;
  static const std::vector<Gpu> table = {
      // name, chip, GiB, GB, form, peak, gemm, attention, fp8, memory GB/s, link, link GB/s, PCIe GB/s, node GB/s,
      // bf16, source
      {"A100-80GB-SXM", {"a100"}, 79.2, 80, {"sxm", "sxm4"}, 312, 258, 120, 1, 2039, kNv, 240, 25, 100, true, "SB"},
      {"A100-80GB-PCIe", {"a100"}, 79.2, 80, {"pcie", "pci"}, 312, 235, 125, 1, 1935, kPc, 11, 25, 25, true, "SB"},
      {"A100-40GB-SXM", {"a100"}, 39.4, 40, {"sxm", "sxm4"}, 312, 246, 115, 1, 1555, kNv, 240, 25, 100, true, "SB GP"},
      {"A100-40GB-PCIe", {"a100"}, 39.4, 40, {"pcie", "pci"}, 312, 230, 120, 1, 1555, kPc, 11, 25, 25, true, "SB GP"},
      {"A800-80GB", {"a800"}, 79.2, 80, {"sxm"}, 312, 258, 130, 1, 2039, kNv, 160, 25, 200, true, "DS"},
      {"H100-80GB-SXM", {"h100"}, 79.1, 80, {"sxm", "sxm5"}, 989, 600, 250, 1.77, 3350, kNv, 360, 50, 400, true, "SB"},
      {"H100-96GB-HBM2e-500W",
       {"h100"},
       95.0,
       96,
       {"hbm2e", "500w"},
       989,
       540,
       250,
       1.77,
       2400,
       kNv,
       360,
       50,
       400,
       true,
       "torchtitan"},
      {"H100-94GB-SXM",
       {"h100"},
       93.6,
       94,
       {"sxm", "sxm5"},
       989,
       560,
       240,
       1.77,
       2400,
       kNv,
       360,
       50,
       400,
       true,
       "torchtitan"},
      {"H100-94GB-NVL", {"h100"}, 93.1, 94, {"nvl"}, 835, 540, 250, 1.77, 3900, kNv, 240, 50, 100, true, "DS"},
      {"H100-80GB-PCIe", {"h100"}, 79.2, 80, {"pcie", "pci"}, 756, 450, 230, 1.5, 2000, kPc, 22, 50, 50, true, "SB DS"},
      {"H800-80GB", {"h800"}, 79.1, 80, {"sxm"}, 989, 600, 250, 1.77, 3350, kNv, 160, 50, 400, true, "DS"},
      {"H20-96GB", {"h20"}, 95.0, 96, {"sxm"}, 148, 137, 90, 1.5, 4000, kNv, 360, 50, 400, true, "DS"},
      {"H200-141GB-SXM", {"h200"}, 139.8, 141, {"sxm"}, 989, 620, 275, 1.77, 4800, kNv, 360, 50, 400, true, "SB"},
      {"GH200-96GB", {"gh200"}, 95, 96, {}, 989, 640, 275, 1.77, 4000, kNv, 360, 360, 400, true, "SB"},
      {"GH200-144GB", {"gh200"}, 140, 144, {}, 989, 640, 275, 1.77, 4800, kNv, 360, 360, 400, true, "SB"},
      {"B200-180GB-SXM", {"b200"}, 178, 180, {"sxm"}, 2250, 1350, 550, 1.5, 8000, kNv, 720, 50, 400, true, "SB"},
      {"GB200-186GB", {"gb200"}, 185, 186, {}, 2500, 1500, 550, 1.5, 8000, kNv, 720, 360, 400, true, "SB", 72},
      {"B300-288GB", {"b300"}, 275, 288, {"sxm"}, 2250, 1400, 550, 1.5, 8000, kNv, 720, 50, 800, true, "SB"},
      {"GB300-288GB", {"gb300"}, 275, 288, {}, 2500, 1500, 550, 1.5, 8000, kNv, 720, 360, 800, true, "SB", 72},
      {"L40S-48GB", {"l40s"}, 44.5, 48, {}, 362, 230, 110, 1.5, 864, kPc, 11, 25, 25, true, "SB"},
      {"L40-48GB", {"l40"}, 44.5, 48, {}, 181, 140, 75, 1.5, 864, kPc, 11, 25, 25, true, "DS"},
      {"A40-48GB", {"a40"}, 44.5, 48, {}, 150, 110, 60, 1, 696, kPc, 11, 25, 25, true, "DS"},
      {"A10-24GB", {"a10"}, 22.1, 24, {}, 125, 75, 50, 1, 600, kPc, 11, 25, 12.5, true, "LF DS"},
      {"A10G-24GB", {"a10g"}, 22.1, 24, {}, 125, 60, 40, 1, 600, kPc, 11, 25, 12.5, true, "LF DS"},
      {"L4-24GB", {"l4"}, 22.0, 24, {}, 121, 60, 45, 1.5, 300, kPc, 5.5, 13, 12.5, true, "DS"},
      {"V100-16GB-SXM", {"v100"}, 15.8, 16, {"sxm", "sxm2"}, 125, 89, 35, 1, 900, kNv, 120, 12, 50, false, "LF SB"},
      {"V100-32GB-SXM", {"v100"}, 31.7, 32, {"sxm", "sxm2"}, 125, 89, 35, 1, 900, kNv, 120, 12, 50, false, "LF SB"},
      {"RTX-5090-32GB", {"5090"}, 31.4, 32, {}, 210, 180, 90, 1.5, 1792, kPc, 11, 25, 12.5, true, "DS"},
      {"RTX-4090-24GB", {"4090"}, 23.6, 24, {}, 165, 145, 70, 1.5, 1008, kPc, 5.5, 13, 12.5, true, "DS GP"},
      {"RTX-3090-24GB", {"3090"}, 23.7, 24, {}, 71, 66, 35, 1, 936, kPc, 5.5, 13, 12.5, true, "DS GP"},
      {"RTX-A6000-48GB", {"a6000"}, 47.5, 48, {}, 155, 108, 60, 1, 768, kPc, 11, 25, 12.5, true, "DS GP"},
      {"RTX-A5000-24GB", {"a5000"}, 23.7, 24, {}, 111, 78, 45, 1, 768, kPc, 5.5, 13, 12.5, true, "DS"},
      {"RTX-6000-Ada-48GB", {"6000", "ada"}, 47.5, 48, {}, 364, 190, 90, 1.5, 960, kPc, 11, 25, 12.5, true, "DS"},
      {"RTX-PRO-6000-96GB", {"pro", "6000"}, 95, 96, {}, 500, 400, 120, 1.5, 1792, kPc, 22, 50, 12.5, true, "DS"},
      {"RTX-3060-12GB", {"3060"}, 11.7, 12, {}, 25, 22, 11, 1, 360, kPc, 5.5, 13, 12.5, true, "DS"},
      {"RTX-3080-10GB", {"3080"}, 9.7, 10, {}, 60, 53, 25, 1, 760, kPc, 5.5, 13, 12.5, true, "DS"},
      {"RTX-4060-Ti-16GB", {"4060"}, 15.6, 16, {}, 44, 38, 18, 1.5, 288, kPc, 5.5, 13, 12.5, true, "DS"},
      {"RTX-4080-16GB", {"4080"}, 15.6, 16, {}, 97, 85, 41, 1.5, 717, kPc, 5.5, 13, 12.5, true, "DS"},
      {"RTX-5080-16GB", {"5080"}, 15.5, 16, {}, 113, 97, 48, 1.5, 960, kPc, 11, 25, 12.5, true, "DS"},
      {"RTX-2080-Ti-11GB", {"2080"}, 10.7, 11, {}, 54, 43, 20, 1, 616, kPc, 5.5, 13, 12.5, false, "DS"},
      {"TITAN-RTX-24GB", {"titan"}, 23.6, 24, {}, 130, 91, 40, 1, 672, kPc, 5.5, 13, 12.5, false, "DS"},
      {"RTX-A4000-16GB", {"a4000"}, 15.6, 16, {}, 77, 54, 30, 1, 448, kPc, 5.5, 13, 12.5, true, "DS"},
      {"RTX-5000-Ada-32GB", {"5000", "ada"}, 31.4, 32, {}, 261, 150, 75, 1.5, 576, kPc, 11, 25, 12.5, true, "DS"},
      {"A30-24GB", {"a30"}, 23.5, 24, {}, 165, 116, 65, 1, 933, kPc, 11, 25, 25, true, "DS"},
      {"L20-48GB", {"l20"}, 44.5, 48, {}, 119, 95, 50, 1.5, 864, kPc, 11, 25, 25, true, "DS"},
      {"P100-16GB", {"p100"}, 15.9, 16, {}, 21, 17, 6, 1, 732, kPc, 5.5, 13, 12.5, false, "DS"},
      {"T4-16GB", {"t4"}, 14.6, 16, {}, 65, 28, 15, 1, 320, kPc, 5.5, 13, 12.5, false, "LF"},
      {"MI210-64GB", {"mi210"}, 63.9, 64, {}, 181, 100, 40, 1, 1638, kPc, 11, 25, 25, true, "DS"},
      {"MI250-128GB", {"mi250"}, 127, 128, {}, 362, 190, 80, 1, 3280, kNv, 100, 25, 100, true, "SB"},
      {"MI250X-128GB", {"mi250x"}, 127, 128, {}, 383, 200, 80, 1, 3280, kNv, 100, 25, 100, true, "SB"},
      {"MI300X-192GB", {"mi300x"}, 191.5, 192, {}, 1307, 460, 170, 1.4, 5300, kNv, 250, 50, 400, true, "SB"},
      {"MI325X-256GB", {"mi325x"}, 255, 256, {}, 1307, 560, 230, 1.4, 6000, kNv, 250, 50, 400, true, "DS"},
  };
  return table;
}

// Data sheets: fp32 outside the tensor cores (AMD: of the matrix cores, which multiply it).
double fp32_tflops(const Gpu& gpu) {
  static const std::vector<std::pair<std::string_view, double>> peaks = {
      {"a100", 19.5}, {"a800", 19.5},  {"h100", 67},    {"h800", 67},    {"h20", 44},      {"h200", 67},
      {"gh200", 67},  {"b200", 80},    {"gb200", 80},   {"b300", 77},    {"gb300", 77},    {"l40s", 91.6},
      {"l40", 90.5},  {"a40", 37.4},   {"a10", 31.2},   {"a10g", 31.2},  {"l4", 30.3},     {"v100", 15.7},
      {"5090", 105},  {"4090", 82.6},  {"3090", 35.6},  {"a6000", 38.7}, {"a5000", 27.8},  {"6000", 91.1},
      {"pro", 125},   {"3060", 12.7},  {"3080", 29.8},  {"4060", 22.1},  {"4080", 48.7},   {"5080", 56.3},
      {"2080", 13.4}, {"titan", 16.3}, {"a4000", 19.2}, {"5000", 65.3},  {"a30", 10.3},    {"l20", 59.8},
      {"p100", 10.6}, {"t4", 8.1},     {"mi210", 45.3}, {"mi250", 90.5}, {"mi250x", 95.7}, {"mi300x", 163},
      {"mi325x", 163}};
  for (const auto& [chip, tflops] : peaks) {
    if (!gpu.chip.empty() && gpu.chip.front() == chip) return tflops;
  }
  return 0;
}

}  // namespace fx::knowledge::plan
