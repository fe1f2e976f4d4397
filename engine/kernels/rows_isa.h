// The tables of the instruction sets that rows_impl.cpp is compiled for.
#pragma once

#include <c10/util/BFloat16.h>

#include "engine/kernels/rows.h"

namespace fx::engine {

namespace plain {
const RowKernels<float>& float_table();
const RowKernels<c10::BFloat16>& bf16_table();
}  // namespace plain
namespace avx2 {
const RowKernels<float>& float_table();
const RowKernels<c10::BFloat16>& bf16_table();
}  // namespace avx2
namespace avx512 {
const RowKernels<float>& float_table();
const RowKernels<c10::BFloat16>& bf16_table();
}  // namespace avx512

}  // namespace fx::engine
