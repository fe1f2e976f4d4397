#include "engine/comm/collectives.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <numeric>
#include <utility>

namespace fx::engine {
namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

WorkCall call_of(const char* operation, const std::string& label, const at::Tensor& out, const at::Tensor& in) {
  return {operation, label, in.numel(), out.numel(), std::string(c10::toString(in.scalar_type()))};
}

}  // namespace

CollectiveError::CollectiveError(int rank_, std::string collective_, std::string label_, std::int64_t sequence_,
                                 const std::string& what)
    : std::runtime_error("rank " + std::to_string(rank_) + ": " + collective_ + " #" + std::to_string(sequence_) +
                         " (" + label_ + ") failed: " + what),
      rank(rank_),
      collective(std::move(collective_)),
      label(std::move(label_)),
      sequence(sequence_) {}

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Collectives::Collectives(std::string group, std::string backend, int global_rank, std::vector<int> ranks,
                         std::shared_ptr<FlightRecorder> recorder)
    : backend_name_(std::move(backend)),
      global_rank_(global_rank),
      recorder_(recorder != nullptr ? std::move(recorder) : std::make_shared<FlightRecorder>(global_rank)),
      group_(recorder_->add_group(std::move(group), backend_name_, std::move(ranks))) {}

Pending Collectives::track(WorkCall call, std::int64_t bytes, const std::function<Wait()>& start) {
  const std::string collective = call.operation, label = call.label;
  const std::int64_t ticket = recorder_->schedule(group_, std::move(call));
  const std::int64_t number = recorder_->sequence_of(ticket);
  ++stats_.calls;
  stats_.bytes_sent += bytes;
  const auto fail = [this, collective, label, number](const std::exception& error) {
    throw CollectiveError(global_rank_, collective, label, number, error.what());
  };
  Wait wait;
  try {
    wait = start();
  } catch (const std::exception& error) {
    fail(error);
  }
  recorder_->start(ticket);
  return Pending([this, wait = std::move(wait), fail, ticket] {
    const double began = seconds();
    recorder_->begin_wait();
    try {
      wait();
    } catch (const std::exception& error) {
      fail(error);
    }
    recorder_->complete(ticket);
    stats_.wait_seconds += seconds() - began;
  });
}

Pending Collectives::all_gather(const std::string& label, at::Tensor out, at::Tensor in) {
  const std::int64_t bytes = in.numel() * static_cast<std::int64_t>(in.element_size()) * (size() - 1);
  return track(call_of("all_gather", label, out, in), bytes, [&] { return start_all_gather(out, in); });
}

Pending Collectives::reduce_scatter(const std::string& label, at::Tensor out, at::Tensor in) {
  const std::int64_t bytes = out.numel() * static_cast<std::int64_t>(in.element_size()) * (size() - 1);
  return track(call_of("reduce_scatter", label, out, in), bytes, [&] { return start_reduce_scatter(out, in); });
}

void Collectives::all_reduce_sum(const std::string& label, at::Tensor inout) {
  track(call_of("all_reduce", label, inout, inout), inout.numel() * 8, [&]() -> Wait {
    return [&] { run_all_reduce(inout, false); };
  }).wait();
}

void Collectives::all_reduce_max(const std::string& label, at::Tensor inout) {
  track(call_of("all_reduce", label, inout, inout), inout.numel() * 8, [&]() -> Wait {
    return [&] { run_all_reduce(inout, true); };
  }).wait();
}

void Collectives::barrier(const std::string& label) {
  at::Tensor one = at::empty({1}, at::kFloat);
  one.fill_(1);
  track(call_of("barrier", label, one, one), 8, [&]() -> Wait { return [&] { run_all_reduce(one, false); }; }).wait();
}

}  // namespace fx::engine
