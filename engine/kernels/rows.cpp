#include "engine/kernels/rows.h"

#include "engine/kernels/rows_isa.h"

namespace fx::engine {
namespace {

enum class Isa { kPlain, kAvx2, kAvx512 };

Isa detect() {
#if defined(FX_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
#endif
  return Isa::kPlain;
}

Isa isa() {
  static const Isa found = detect();
  return found;
}

}  // namespace

template <>
const RowKernels<float>& row_kernels<float>() {
#if defined(FX_X86)
  if (isa() == Isa::kAvx512) return avx512::float_table();
  if (isa() == Isa::kAvx2) return avx2::float_table();
#endif
  return plain::float_table();
}

template <>
const RowKernels<c10::BFloat16>& row_kernels<c10::BFloat16>() {
#if defined(FX_X86)
  if (isa() == Isa::kAvx512) return avx512::bf16_table();
  if (isa() == Isa::kAvx2) return avx2::bf16_table();
#endif
  return plain::bf16_table();
}

const char* row_kernels_name() {
  return isa() == Isa::kAvx512 ? "avx512" : isa() == Isa::kAvx2 ? "avx2" : "plain";
}

}  // namespace fx::engine
