// Storage that comes and goes while the tensors on it stay.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace fx::engine {

// Gives the tensor's storage this many bytes, on any device; 0 frees it. What it held is lost. All tensors on the
// storage stay valid objects.
void resize_storage(const at::Tensor& tensor, std::int64_t bytes);

}  // namespace fx::engine
