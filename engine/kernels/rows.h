// Row-wise CPU kernels that LibTorch has only as chains of small operations. One source, compiled for several
// instruction sets; the best one that this processor runs is chosen once. T: float or bf16 (c10::BFloat16); sums are
// fp32.
#pragma once

#include <cstdint>

namespace fx::engine {

// Rows of scores under a causal mask: row r has values in its first first_valid + (first_row + r) / group columns.
struct CausalRows {
  std::int64_t rows = 0, width = 0;  // columns
  std::int64_t first_row = 0, group = 1, first_valid = 1;
};

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
  // The same with wide gradients, dy -> dgate in place, and y once more.
  void (*swiglu_backward_wide)(float* dy, const T* gate, const T* up, float* dup, float* y, std::int64_t n);
  // Rotates the two halves of each head; cosine and sine are [tokens, dim / 2]; sign -1 rotates back.
  void (*rope)(const T* x, const float* cosine, const float* sine, T* y, std::int64_t tokens, std::int64_t heads,
               std::int64_t dim, float sign);
  // In place: softmax(scale * x) of a row's valid columns, 0 behind them; log_sum[row] = log(sum of e^(scale * x)).
  void (*causal_softmax)(T* x, float* log_sum, const CausalRows& shape, float scale);
  // x -> the probabilities p again, dp -> p * (dp - dot[row]) * scale, both 0 behind the valid columns; dot[row] is
  // the sum of p * dp over the row.
  void (*causal_softmax_backward)(T* x, T* dp, const float* log_sum, const float* dot, const CausalRows& shape,
                                  float scale);
  // y[row] = sum of a * b over the row's width elements.
  void (*row_dots)(const T* a, const T* b, float* y, std::int64_t rows, std::int64_t width);
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
