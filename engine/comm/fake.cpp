#include "engine/comm/fake.h"

#include <algorithm>
#include <utility>

namespace fx::engine {
namespace {

// "shard-0" -> "shard": there is one of each kind that this rank is in.
std::string kind_of(const std::string& group) {
  return group.substr(0, group.find('-'));
}

std::int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.nbytes());
}

class Fake : public Collectives {
 public:
  Fake(const std::string& group, int size, TrafficLog& log, std::shared_ptr<FlightRecorder> recorder)
      : Collectives(group, "fake", 0, all_ranks(size), std::move(recorder)),
        group_(kind_of(group)),
        size_(size),
        log_(log) {}
  int rank() const override { return 0; }
  int size() const override { return size_; }
  at::Device device() const override { return at::kMeta; }
  std::unique_ptr<Collectives> split(const std::string& name, const std::vector<int>& ranks) override {
    return std::make_unique<Fake>(name, static_cast<int>(ranks.size()), log_, shared_recorder());
  }

 protected:
  Wait start_all_gather(at::Tensor out, at::Tensor in) override {
    count("all_gather", bytes_of(in) * (size_ - 1), bytes_of(out));
    return [] {};
  }
  Wait start_reduce_scatter(at::Tensor out, at::Tensor in) override {
    count("reduce_scatter", bytes_of(out) * (size_ - 1), bytes_of(in));
    return [] {};
  }
  // As a reduce-scatter and an all-gather, which is the least.
  void run_all_reduce(at::Tensor inout, bool) override {
    count("all_reduce", 2 * bytes_of(inout) / size_ * (size_ - 1), bytes_of(inout));
  }

 private:
  void count(const std::string& operation, std::int64_t sent, std::int64_t whole) {
    const std::string phase = recorder().phase().substr(0, recorder().phase().find(','));
    auto row = std::find_if(log_.begin(), log_.end(), [&](const Traffic& t) {
      return t.phase == phase && t.group == group_ && t.operation == operation;
    });
    if (row == log_.end()) row = log_.insert(log_.end(), {phase, group_, operation, size_, 0, 0, 0});
    ++row->calls;
    row->bytes_sent += sent;
    row->largest_bytes = std::max(row->largest_bytes, whole);
  }
  std::string group_;
  int size_;
  TrafficLog& log_;
};

}  // namespace

std::unique_ptr<Collectives> make_fake(int size, TrafficLog& log) {
  return std::make_unique<Fake>("world", size, log, nullptr);
}

}  // namespace fx::engine
