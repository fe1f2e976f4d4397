#include "engine/train/memory_testing.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <string>

#include "engine/lora/adapted_model.h"
#include "engine/train/optimizer.h"

namespace fx::engine::testing {
namespace {

// One rank's. Only its own thread allocates in its name; whoever frees.
class Counter {
 public:
  void begin(FlightRecorder& recorder) { recorder_ = &recorder, now_ = 0, peaks_.clear(); }
  void end() { recorder_ = nullptr; }
  void add(std::int64_t bytes) {
    const std::int64_t after = now_ += bytes;
    if (bytes < 0 || recorder_ == nullptr) return;
    std::int64_t& peak = peaks_[phase()];
    peak = std::max(peak, after);
  }
  void forget_peaks() { peaks_.clear(); }
  double now() const { return static_cast<double>(now_); }
  double peak(const std::string& phase) const {
    const auto found = peaks_.find(phase);
    return found == peaks_.end() ? 0 : static_cast<double>(found->second);
  }

 private:
  std::string phase() const {
    const std::string whole = recorder_->phase();
    return whole.substr(0, whole.find(','));
  }
  FlightRecorder* recorder_ = nullptr;
  std::atomic<std::int64_t> now_{0};
  std::map<std::string, std::int64_t> peaks_;
};

thread_local Counter* counter_of_rank = nullptr;

class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    auto* header = static_cast<Header*>(std::aligned_alloc(64, (bytes + sizeof(Header) + 63) / 64 * 64));
    if (header == nullptr) throw std::bad_alloc();
    *header = {static_cast<std::int64_t>(bytes), counter_of_rank};
    if (header->owner != nullptr) header->owner->add(header->bytes);
    return {header + 1, header + 1, &release, at::Device(at::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  struct alignas(64) Header {
    std::int64_t bytes;
    Counter* owner;
  };
  static void release(void* data) {
    auto* header = static_cast<Header*>(data) - 1;
    if (header->owner != nullptr) header->owner->add(-header->bytes);
    std::free(header);
  }
};

// Tensors may outlive a measurement: the allocator and the counters are never destroyed.
Counter& counter(int rank) {
  static const bool installed = [] {
    c10::SetCPUAllocator(new CountingAllocator, 200);
    return true;
  }();
  static auto* counters = new std::array<Counter, 8>;
  (void)installed;
  return counters->at(static_cast<std::size_t>(rank));
}

Batch one_document(std::int64_t tokens) {
  Batch batch;
  batch.tokens = at::arange(tokens, at::kLong).remainder(7);
  batch.labels = batch.tokens.add(1);
  batch.positions = at::arange(tokens, at::kLong);
  batch.starts = {0, tokens};
  return batch;
}

}  // namespace

MemoryPeaks measure_memory(Collectives& comm, const MemoryCase& what) {
  Counter& mine = counter(comm.rank());
  counter_of_rank = &mine;
  comm.recorder().enter("made");
  mine.begin(comm.recorder());
  MemoryPeaks out;
  {
    const auto model = with_adapters(make_model(what.shape), what.shape, what.lora);
    ShardedModel sharded(*model, what.policy, comm);
    out.made = mine.peak("made");
    comm.recorder().enter("fill");
    if (what.fill) what.fill(sharded);
    AdamW optimizer({}, sharded.groups());
    for (int step = 0; step < 2; ++step) {
      comm.barrier("settled");  // other threads hold no tensor of ours any more
      mine.forget_peaks();
      for (int m = 0; m < what.micro_batches; ++m) {
        sharded.accumulate(one_document(what.tokens), 1.0f, GradientSync::kFull, m + 1 == what.micro_batches);
      }
      comm.barrier("settled");
      comm.recorder().enter("optimizer");
      mine.add(0);
      clip_gradients(sharded.groups(), 1.0, sharded.mesh());
      optimizer.step(1e-3);
    }
    out.forward = mine.peak("forward");
    out.backward = std::max(mine.peak("head and loss"), mine.peak("backward"));
    out.optimizer = mine.peak("optimizer");
    out.after = mine.now();
  }
  mine.end();
  counter_of_rank = nullptr;
  return out;
}

}  // namespace fx::engine::testing
