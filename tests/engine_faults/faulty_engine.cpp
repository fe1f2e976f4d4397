// fsdp-engine with one fault in one rank, for tests: the same train command with another model.
// FX_FAULT_RANK says which rank, FX_FAULT what happens to it in its third forward of "layer 1":
//   skip    leaves the layer out, and with it the layer's collectives
//   sleep   stands still for ever
//   kill    is ended by SIGKILL
//   throw   throws an exception
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "engine/train/train_command.h"

namespace fx::engine {
namespace {

std::atomic<bool> stop_requested{false};
constexpr std::size_t kStage = 2;  // "layer 1"
constexpr int kForward = 3;

class FaultyModel : public Model {
 public:
  FaultyModel(std::unique_ptr<Model> model, std::string fault)
      : model_(std::move(model)), fault_(std::move(fault)), stages_(model_->stages()) {}

  const std::vector<StageDef>& stages() const override { return stages_; }
  const std::vector<GroupDef>& groups() const override { return model_->groups(); }

  at::Tensor embed(const StageParams& params, const Batch& batch) const override {
    faulty_now_ = ++forward_ == kForward;
    block_ = 0;
    stages_ = model_->stages();
    // The stage now asks for nothing but the embedding's group, which is there anyway.
    if (faulty_now_ && fault_ == "skip") stages_[kStage].group = 0, stages_[kStage].params.clear();
    return model_->embed(params, batch);
  }
  at::Tensor block(const StageParams& params, const at::Tensor& x, const Batch& batch) const override {
    if (params.full.empty()) return x;
    if (faulty_now_ && ++block_ == kStage) misbehave();
    return model_->block(params, x, batch);
  }
  HeadResult head(const StageParams& params, const at::Tensor& x, const Batch& batch, float scale,
                  bool with_gradient) const override {
    return model_->head(params, x, batch, scale, with_gradient);
  }
  at::Tensor logits(const StageParams& params, const at::Tensor& x) const override { return model_->logits(params, x); }

 private:
  void misbehave() const {
    if (fault_ == "sleep") std::this_thread::sleep_for(std::chrono::hours(1));
    if (fault_ == "kill") ::raise(SIGKILL);
    if (fault_ == "throw") throw std::runtime_error("the sample has no tokens");
  }

  std::unique_ptr<Model> model_;
  std::string fault_;
  // A rank computes on one thread.
  mutable std::vector<StageDef> stages_;
  mutable int forward_ = 0;
  mutable std::size_t block_ = 0;
  mutable bool faulty_now_ = false;
};

std::unique_ptr<Model> make_faulty(const ModelShape& shape) {
  const char *fault = std::getenv("FX_FAULT"), *faulty = std::getenv("FX_FAULT_RANK"), *rank = std::getenv("RANK");
  auto model = make_model(shape);
  const bool here = fault != nullptr && faulty != nullptr && rank != nullptr && std::string(faulty) == rank;
  if (!here) return model;
  return std::make_unique<FaultyModel>(std::move(model), fault);
}

}  // namespace
}  // namespace fx::engine

int main(int argc, char** argv) {
  if (argc != 3 || std::string(argv[1]) != "train") return 2;
  struct sigaction action {};
  action.sa_handler = [](int) { fx::engine::stop_requested = true; };
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const int code = fx::engine::train_command(argv[2], fx::engine::stop_requested, fx::engine::make_faulty);
  std::fflush(nullptr);
  std::_Exit(code);
}
