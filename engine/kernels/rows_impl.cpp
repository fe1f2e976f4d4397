// Compiled once for each instruction set: FX_ISA names the namespace, the compiler's flags do the rest.
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/kernels/rows.h"
#include "engine/kernels/rows_isa.h"

namespace fx::engine::FX_ISA {
namespace {

// e^x by range reduction and a degree-5 polynomial (Cephes coefficients), below 2 ulp; branch-free, so loops vectorise.
inline float fast_exp(float x) {
  x = std::min(std::max(x, -87.0f), 88.0f);
  const float k = std::floor(x * 1.44269504f + 0.5f);
  const float r = x - k * 0.693359375f + k * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float e = p * r * r + r + 1.0f;
  const std::int32_t bits = (static_cast<std::int32_t>(k) + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return e * scale;
}

template <class T>
void rms_norm(const T* x, const T* w, T* y, float* rstd, std::int64_t rows, std::int64_t h, float eps) {
  for (std::int64_t row = 0; row < rows; ++row, x += h, y += h) {
    float sum = 0;
    for (std::int64_t i = 0; i < h; ++i) {
      const float v = static_cast<float>(x[i]);
      sum += v * v;
    }
    const float scale = 1.0f / std::sqrt(sum / static_cast<float>(h) + eps);
    rstd[row] = scale;
    for (std::int64_t i = 0; i < h; ++i)
      y[i] = static_cast<T>(static_cast<float>(x[i]) * scale * static_cast<float>(w[i]));
  }
}

template <class T>
void rms_norm_backward(const T* dy, const T* x, const T* w, const float* rstd, T* dx, float* dw, std::int64_t rows,
                       std::int64_t h) {
  for (std::int64_t row = 0; row < rows; ++row, dy += h, x += h, dx += h) {
    const float scale = rstd[row];
    float dot = 0;
    for (std::int64_t i = 0; i < h; ++i) {
      const float g = static_cast<float>(dy[i]);
      const float n = static_cast<float>(x[i]) * scale;
      dot += g * static_cast<float>(w[i]) * n;
      dw[i] += g * n;
    }
    const float mean = dot / static_cast<float>(h);
    for (std::int64_t i = 0; i < h; ++i) {
      const float n = static_cast<float>(x[i]) * scale;
      dx[i] = static_cast<T>(scale * (static_cast<float>(dy[i]) * static_cast<float>(w[i]) - n * mean));
    }
  }
}

template <class T>
void swiglu(const T* gate, const T* up, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(gate[i]);
    y[i] = static_cast<T>(g / (1.0f + fast_exp(-g)) * static_cast<float>(up[i]));
  }
}

template <class T>
void swiglu_backward(const T* dy, const T* gate, const T* up, T* dgate, T* dup, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(gate[i]);
    const float d = static_cast<float>(dy[i]);
    const float s = 1.0f / (1.0f + fast_exp(-g));
    dup[i] = static_cast<T>(d * g * s);
    dgate[i] = static_cast<T>(d * static_cast<float>(up[i]) * s * (1.0f + g * (1.0f - s)));
  }
}

template <class T>
void swiglu_backward_wide(float* dy, const T* gate, const T* up, float* dup, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(gate[i]), u = static_cast<float>(up[i]), d = dy[i];
    const float s = 1.0f / (1.0f + fast_exp(-g));
    y[i] = g * s * u;
    dup[i] = d * g * s;
    dy[i] = d * u * s * (1.0f + g * (1.0f - s));
  }
}

template <class T>
void rope(const T* x, const float* cosine, const float* sine, T* y, std::int64_t tokens, std::int64_t heads,
          std::int64_t dim, float sign) {
  const std::int64_t half = dim / 2;
  for (std::int64_t t = 0; t < tokens; ++t, cosine += half, sine += half) {
    for (std::int64_t head = 0; head < heads; ++head, x += dim, y += dim) {
      for (std::int64_t i = 0; i < half; ++i) {
        const float a = static_cast<float>(x[i]), b = static_cast<float>(x[i + half]);
        y[i] = static_cast<T>(a * cosine[i] - sign * b * sine[i]);
        y[i + half] = static_cast<T>(b * cosine[i] + sign * a * sine[i]);
      }
    }
  }
}

template <class T>
float row_max(const T* x, std::int64_t n) {
  float top = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < n; ++i) top = std::max(top, static_cast<float>(x[i]));
  return top;
}

std::int64_t valid_columns(const CausalRows& shape, std::int64_t row) {
  return std::min(shape.width, shape.first_valid + (shape.first_row + row) / shape.group);
}

template <class T>
void causal_softmax(T* x, float* log_sum, const CausalRows& shape, float scale) {
  for (std::int64_t row = 0; row < shape.rows; ++row, x += shape.width) {
    const std::int64_t valid = valid_columns(shape, row);
    const float top = row_max(x, valid) * scale;
    float sum = 0;
    if constexpr (std::is_same_v<T, float>) {
      for (std::int64_t i = 0; i < valid; ++i) {
        x[i] = fast_exp(x[i] * scale - top);
        sum += x[i];
      }
      const float inverse = 1.0f / sum;
      for (std::int64_t i = 0; i < valid; ++i) x[i] *= inverse;
    } else {  // made twice: rounding to T comes last
      for (std::int64_t i = 0; i < valid; ++i) sum += fast_exp(static_cast<float>(x[i]) * scale - top);
      const float inverse = 1.0f / sum;
      for (std::int64_t i = 0; i < valid; ++i) {
        x[i] = static_cast<T>(fast_exp(static_cast<float>(x[i]) * scale - top) * inverse);
      }
    }
    log_sum[row] = top + std::log(sum);
    for (std::int64_t i = valid; i < shape.width; ++i) x[i] = static_cast<T>(0.0f);
  }
}

template <class T>
void causal_softmax_backward(T* x, T* dp, const float* log_sum, const float* dot, const CausalRows& shape,
                             float scale) {
  for (std::int64_t row = 0; row < shape.rows; ++row, x += shape.width, dp += shape.width) {
    const std::int64_t valid = valid_columns(shape, row);
    const float shift = log_sum[row], mean = dot[row];
    for (std::int64_t i = 0; i < valid; ++i) {
      const float p = fast_exp(static_cast<float>(x[i]) * scale - shift);
      x[i] = static_cast<T>(p);
      dp[i] = static_cast<T>(p * (static_cast<float>(dp[i]) - mean) * scale);
    }
    for (std::int64_t i = valid; i < shape.width; ++i) x[i] = dp[i] = static_cast<T>(0.0f);
  }
}

template <class T>
void row_dots(const T* a, const T* b, float* y, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, a += width, b += width) {
    float dot = 0;
    for (std::int64_t i = 0; i < width; ++i) dot += static_cast<float>(a[i]) * static_cast<float>(b[i]);
    y[row] = dot;
  }
}

template <class T>
double cross_entropy(T* logits, const std::int64_t* labels, std::int64_t rows, std::int64_t classes, float scale,
                     bool with_gradient) {
  double loss = 0;
  for (std::int64_t row = 0; row < rows; ++row, logits += classes) {
    const std::int64_t label = labels[row];
    if (label < 0) {
      if (with_gradient) std::memset(static_cast<void*>(logits), 0, static_cast<std::size_t>(classes) * sizeof(T));
      continue;
    }
    const float top = row_max(logits, classes);
    float sum = 0;
    for (std::int64_t i = 0; i < classes; ++i) sum += fast_exp(static_cast<float>(logits[i]) - top);
    loss += std::log(static_cast<double>(sum)) + top - static_cast<float>(logits[label]);
    if (!with_gradient) continue;
    const float inverse = scale / sum;
    const float at_label = fast_exp(static_cast<float>(logits[label]) - top) * inverse - scale;
    for (std::int64_t i = 0; i < classes; ++i) {
      logits[i] = static_cast<T>(fast_exp(static_cast<float>(logits[i]) - top) * inverse);
    }
    logits[label] = static_cast<T>(at_label);
  }
  return loss;
}

template <class T>
void sum_pair(T* y, const T* a, const T* b, std::int64_t n, float scale) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = static_cast<T>((static_cast<float>(a[i]) + static_cast<float>(b[i])) * scale);
}

template <class T>
void widen(float* y, const T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

template <class T>
void accumulate(float* y, const T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += static_cast<float>(x[i]);
}

template <class T>
void narrow(T* y, const float* x, std::int64_t n, float scale) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(x[i] * scale);
}

template <class T>
constexpr RowKernels<T> kTable = {rms_norm<T>,
                                  rms_norm_backward<T>,
                                  swiglu<T>,
                                  swiglu_backward<T>,
                                  swiglu_backward_wide<T>,
                                  rope<T>,
                                  causal_softmax<T>,
                                  causal_softmax_backward<T>,
                                  row_dots<T>,
                                  cross_entropy<T>,
                                  sum_pair<T>,
                                  widen<T>,
                                  accumulate<T>,
                                  narrow<T>};

}  // namespace

const RowKernels<float>& float_table() {
  return kTable<float>;
}
const RowKernels<c10::BFloat16>& bf16_table() {
  return kTable<c10::BFloat16>;
}

}  // namespace fx::engine::FX_ISA
