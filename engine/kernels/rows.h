// Row-wise CPU kernels that LibTorch has only as chains of small operations. One source, compiled for several
// instruction sets; the best one that this processor runs is chosen once. T: float or bf16 (c10::BFloat16); sums are
// fp32.
#pragma once

#include <cstdint>

namespace fx::engine {

template <class T>
struct RowKernels {
  // y = x * rstd * w over rows of h; rstd[row] is kept for the backward.
  void (*rms_norm)(const T* x, const T* w, T* y, float* rstd, std::int64_t rows, std::int64_t h, float eps);
  // dx, and dw[h] += (fp32).
  void (*rms_norm_backward)(const T* dy, const T* x, const T* w, const float* rstd, T* dx, float* dw, std::int64_t rows,
                            std::int64_t h);
  // y = silu(gate) * up over n elements.
  void (*swiglu)(const T* gate, const T* up, T* y, std::int64_t n);
  void (*swiglu_backward)(const T* dy, const T* gate, const T* up, T* dgate, T* dup, std::int64_t n);
  // Rotates the two halves of each head; cosine and sine are [tokens, dim / 2]; sign -1 rotates back.
  void (*rope)(const T* x, const float* cosine, const float* sine, T* y, std::int64_t tokens, std::int64_t heads,
               std::int64_t dim, float sign);
  // In place over rows of width columns: softmax(scale * x) of the first valid(row) columns, 0 behind them, where
  // valid(row) = first_valid + (first_row + row) / group.
  void (*causal_softmax)(T* x, std::int64_t rows, std::int64_t width, std::int64_t first_row, std::int64_t group,
                         std::int64_t first_valid, float scale);
  // In place in dp: p * (dp - sum(p * dp)) * scale.
  void (*softmax_backward)(const T* p, T* dp, std::int64_t rows, std::int64_t width, float scale);
  // In place over rows of classes: logits -> (softmax - onehot) * scale; labels below 0 give 0 and no loss.
  // Returns the sum of the rows' losses. with_gradient false: logits are left alone.
  double (*cross_entropy)(T* logits, const std::int64_t* labels, std::int64_t rows, std::int64_t classes, float scale,
                          bool with_gradient);
  // y = (a + b) * scale.
  void (*sum_pair)(T* y, const T* a, const T* b, std::int64_t n, float scale);
  // Reductions of several sources: y = x; y += x; y = x * scale.
  void (*widen)(float* y, const T* x, std::int64_t n);
  void (*accumulate)(float* y, const T* x, std::int64_t n);
  void (*narrow)(T* y, const float* x, std::int64_t n, float scale);
};

// For this processor. The name is "avx512", "avx2" or "plain".
template <class T>
const RowKernels<T>& row_kernels();
const char* row_kernels_name();

}  // namespace fx::engine
