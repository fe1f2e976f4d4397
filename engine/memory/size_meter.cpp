#include "engine/memory/size_meter.h"

#include <c10/core/Allocator.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

namespace fx::engine {
namespace {

constexpr std::uint8_t kPriority = 1;  // above LibTorch's own, which counts nothing

// LibTorch keeps a pointer to its allocators for ever: this one outlives the meters.
struct CountingAllocator final : c10::Allocator {
  std::atomic<SizeMeter*> meter{nullptr};

  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void*, const void*, std::size_t) const override {}
};

CountingAllocator& allocator() {
  static CountingAllocator it;
  return it;
}

// The context of a counted allocation is its size; the memory itself is none.
void forget(void* context) {
  SizeMeter* meter = allocator().meter;
  if (meter != nullptr) meter->add(-reinterpret_cast<std::intptr_t>(context));
}

c10::DataPtr CountingAllocator::allocate(std::size_t bytes) {
  SizeMeter* now = meter;
  if (now == nullptr || bytes == 0) return {nullptr, c10::Device(c10::kMeta)};
  now->add(static_cast<std::int64_t>(bytes));
  return {nullptr, reinterpret_cast<void*>(bytes), &forget, c10::Device(c10::kMeta)};
}

}  // namespace

SizeMeter::SizeMeter(std::function<std::string()> phase) : phase_(std::move(phase)) {
  if (allocator().meter.exchange(this) != nullptr) throw std::logic_error("SizeMeter: there is one already");
  c10::SetAllocator(c10::kMeta, &allocator(), kPriority);
}

SizeMeter::~SizeMeter() {
  allocator().meter = nullptr;
}

void SizeMeter::add(std::int64_t bytes) {
  bytes_ += bytes;
  if (bytes <= 0) return;
  std::int64_t& peak = peaks_[phase_()];
  peak = std::max(peak, bytes_);
}

}  // namespace fx::engine
