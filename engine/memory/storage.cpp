#include "engine/memory/storage.h"

#include <ATen/native/Resize.h>

namespace fx::engine {

void resize_storage(const at::Tensor& tensor, std::int64_t bytes) {
  if (tensor.is_cpu()) return at::native::resize_bytes_nocuda(tensor.storage(), bytes);
  // The device's own allocator directly: no copy of what is not wanted, and sizes on the meta device are counted too.
  c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  c10::Allocator* allocator = storage->allocator();
  storage->set_data_ptr_noswap(at::DataPtr(nullptr, storage->device()));
  if (bytes > 0) storage->set_data_ptr_noswap(allocator->allocate(static_cast<std::size_t>(bytes)));
  storage->set_nbytes(static_cast<std::size_t>(bytes));
}

}  // namespace fx::engine
