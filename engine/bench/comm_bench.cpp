#include "engine/bench/comm_bench.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.h"
#include "engine/bench/self_launch.h"
#include "engine/comm/process_group.h"
#include "engine/train/train_command.h"
#include "spec/json.h"

namespace fx::engine {
namespace {

using Backend = c10::intrusive_ptr<c10d::Backend>;

struct Options {
  long long ranks = 2;
  long long mib = 64;  // of the full buffer
  long long repeats = 20;
  std::vector<std::pair<std::string, Transport>> transports = {{"shm", Transport::kSharedMemory},
                                                               {"gloo", Transport::kGloo}};
};

Result<long long> number_of(const std::string& name, const std::string& text, long long most) {
  const auto value = to_integer(text);
  if (!value || *value < 1 || *value > most)
    return invalid_argument(name, "must be a whole number from 1 to " + std::to_string(most));
  return *value;
}

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const std::string &name = arguments[i], &text = arguments[i + 1];
    if (name == "--transport") {
      if (text != "shm" && text != "gloo" && text != "both")
        return invalid_argument(name, "\"" + quote_input(text, 40) + "\" is no transport", "use shm, gloo or both");
      std::erase_if(options.transports, [&](const auto& t) { return text != "both" && t.first != text; });
      continue;
    }
    long long* target = name == "--ranks"     ? &options.ranks
                        : name == "--mib"     ? &options.mib
                        : name == "--repeats" ? &options.repeats
                                              : nullptr;
    if (target == nullptr) return invalid_argument(quote_input(name, 40), "is not understood");
    auto value = number_of(name, text, name == "--ranks" ? 64 : 1 << 14);
    if (!value) return value.error();
    *target = *value;
  }
  if (arguments.size() % 2 != 0) return invalid_argument(quote_input(arguments.back(), 40), "needs a value");
  return options;
}

// One kind of call on this rank; check() throws when its result is wrong.
struct Case {
  std::string operation, reduction;
  std::function<c10::intrusive_ptr<c10d::Work>()> start;
  std::function<void()> prepare, check;
};

void expect(const at::Tensor& part, double value) {
  const at::Tensor ends = part.index_select(0, at::full({1}, part.numel() - 1, at::kLong));
  if (part[0].item<double>() != value || ends.item<double>() != value)
    throw std::runtime_error("the result of a collective is wrong");
}

Case gather(Backend& backend, const at::Tensor& whole) {
  const std::int64_t ranks = backend->getSize(), rank = backend->getRank(), count = whole.numel() / ranks;
  // As parameters are gathered: a rank's own part lies in the output already.
  at::Tensor part = whole.narrow(0, rank * count, count);
  return {"all_gather", "",
          [=]() mutable {
            at::Tensor out = whole;
            return backend->_allgather_base(out, part);
          },
          [=] { at::Tensor(part).fill_(static_cast<double>(rank + 1)); },
          [=] {
            for (std::int64_t r = 0; r < ranks; ++r)
              expect(whole.narrow(0, r * count, count), static_cast<double>(r + 1));
          }};
}

Case reduce(Backend& backend, const at::Tensor& whole, bool average) {
  const std::int64_t ranks = backend->getSize();
  at::Tensor part = at::empty({whole.numel() / ranks}, whole.options());
  const double sum = static_cast<double>(ranks * (ranks + 1)) / 2;
  return {"reduce_scatter", average ? "avg" : "sum",
          [=]() mutable {
            c10d::ReduceScatterOptions options;
            options.reduceOp = average ? c10d::ReduceOp::AVG : c10d::ReduceOp::SUM;
            at::Tensor out = part, in = whole;
            return backend->_reduce_scatter_base(out, in, options);
          },
          [=] { at::Tensor(whole).fill_(static_cast<double>(backend->getRank() + 1)); },
          [=] { expect(part, average ? sum / static_cast<double>(ranks) : sum); }};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Json measure(Backend& backend, Case& c, const std::string& dtype, std::size_t bytes, long long repeats) {
  constexpr long long kWarmUp = 3;
  std::vector<double> seconds;
  c.prepare();
  for (long long i = -kWarmUp; i < repeats; ++i) {
    backend->barrier()->wait();
    const auto began = std::chrono::steady_clock::now();
    c.start()->wait();
    if (i >= 0) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  c.check();
  Json out = {{"transport", backend->getBackendName()}, {"operation", c.operation}};
  if (!c.reduction.empty()) out["reduction"] = c.reduction;
  out["dtype"] = dtype;
  out["median_ms"] = median(seconds) * 1000;
  out["best_ms"] = *std::min_element(seconds.begin(), seconds.end()) * 1000;
  out["gb_per_s"] = static_cast<double>(bytes) / median(seconds) / 1e9;
  return out;
}

Result<Json> run_rank(const Rendezvous& meeting, const Options& options) {
  Json results = Json::array();
  const auto bytes = static_cast<std::size_t>(options.mib) << 20;
  auto backends = connect_backends(meeting, options.transports);
  if (!backends) return backends.error();
  for (Backend& backend : *backends) {
    for (const auto& [dtype, type] : {std::pair{"bf16", at::kBFloat16}, std::pair{"fp32", at::kFloat}}) {
      const auto ranks = static_cast<std::size_t>(meeting.world_size);
      const std::size_t count = bytes / c10::elementSize(type) / ranks * ranks;
      at::Tensor whole = at::empty({static_cast<std::int64_t>(count)}, type);
      for (Case& c :
           std::vector<Case>{gather(backend, whole), reduce(backend, whole, false), reduce(backend, whole, true)}) {
        results.push_back(measure(backend, c, dtype, bytes, options.repeats));
      }
    }
    backend->barrier()->wait();
  }
  double load[3] = {0, 0, 0};
  (void)getloadavg(load, 3);
  return Json{{"ranks", meeting.world_size},
              {"mib", options.mib},
              {"repeats", options.repeats},
              {"load_average", load[0]},
              {"results", std::move(results)}};
}

}  // namespace

int comm_bench_command(const std::vector<std::string>& arguments) {
  const auto options = parse_options(arguments);
  if (!options) return print_failure(options.error());
  if (std::getenv("RANK") == nullptr)
    return launch_self(static_cast<int>(options->ranks), {"bench", "comm"}, arguments);
  const auto meeting = rendezvous_from_environment();
  if (!meeting) return print_failure(meeting.error());
  const auto result = run_rank(*meeting, *options);
  if (!result) return print_failure(result.error());
  if (meeting->rank == 0) std::printf("%s\n", to_text(*result, 2).c_str());
  return 0;
}

}  // namespace fx::engine
