#include "engine/comm/collectives.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <utility>

namespace fx::engine {
namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
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

Pending Collectives::track(const std::string& collective, const std::string& label, std::int64_t bytes,
                           const std::function<Wait()>& start) {
  const std::int64_t number = ++sequence_;
  ++stats_.calls;
  stats_.bytes_sent += bytes;
  const auto fail = [this, collective, label, number](const std::exception& error) {
    throw CollectiveError(rank(), collective, label, number, error.what());
  };
  Wait wait;
  try {
    wait = start();
  } catch (const std::exception& error) {
    fail(error);
  }
  return Pending([this, wait = std::move(wait), fail] {
    const double began = seconds();
    try {
      wait();
    } catch (const std::exception& error) {
      fail(error);
    }
    stats_.wait_seconds += seconds() - began;
  });
}

Pending Collectives::all_gather(const std::string& label, at::Tensor out, at::Tensor in) {
  const std::int64_t bytes = in.numel() * static_cast<std::int64_t>(in.element_size()) * (size() - 1);
  return track("all_gather", label, bytes, [&] { return start_all_gather(out, in); });
}

Pending Collectives::reduce_scatter(const std::string& label, at::Tensor out, at::Tensor in) {
  const std::int64_t bytes = out.numel() * static_cast<std::int64_t>(in.element_size()) * (size() - 1);
  return track("reduce_scatter", label, bytes, [&] { return start_reduce_scatter(out, in); });
}

void Collectives::all_reduce_sum(const std::string& label, at::Tensor inout) {
  track("all_reduce", label, inout.numel() * 8, [&]() -> Wait { return [&] { run_all_reduce(inout, false); }; }).wait();
}

void Collectives::all_reduce_max(const std::string& label, at::Tensor inout) {
  track("all_reduce", label, inout.numel() * 8, [&]() -> Wait { return [&] { run_all_reduce(inout, true); }; }).wait();
}

void Collectives::barrier(const std::string& label) {
  at::Tensor one = at::empty({1}, at::kFloat);
  one.fill_(1);
  track("barrier", label, 8, [&]() -> Wait { return [&] { run_all_reduce(one, false); }; }).wait();
}

}  // namespace fx::engine
