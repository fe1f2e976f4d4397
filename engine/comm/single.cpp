#include <utility>

#include "engine/comm/process_group.h"

namespace fx::engine {
namespace {

class Single : public Collectives {
 public:
  explicit Single(std::string name, at::Device device, std::shared_ptr<FlightRecorder> recorder = nullptr)
      : Collectives(std::move(name), "none", 0, {0}, std::move(recorder)), device_(device) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  at::Device device() const override { return device_; }
  std::unique_ptr<Collectives> split(const std::string& name, const std::vector<int>&) override {
    return std::make_unique<Single>(name, device_, shared_recorder());
  }

 protected:
  Wait start_all_gather(at::Tensor out, at::Tensor in) override {
    out.copy_(in);
    return [] {};
  }
  Wait start_reduce_scatter(at::Tensor out, at::Tensor in) override {
    out.copy_(in);
    return [] {};
  }
  void run_all_reduce(at::Tensor, bool) override {}

 private:
  at::Device device_;
};

}  // namespace

std::unique_ptr<Collectives> make_single(at::Device device) {
  return std::make_unique<Single>("world", device);
}

}  // namespace fx::engine
