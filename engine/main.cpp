// fsdp-engine: one process is one rank.
#include <ATen/Parallel.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Context.h>
#include <torch/csrc/api/include/torch/version.h>

#include "base/file.h"
#include "engine/comm/process_group.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/rows.h"
#include "engine/logits.h"
#include "engine/memory/block_cache.h"
#include "engine/train/loop.h"

namespace fx::engine {
namespace {

constexpr const char* kUsage =
    "usage: fsdp-engine train SPEC.json       one rank of a run; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say which\n"
    "       fsdp-engine logits MODEL TOKENS.json OUT.safetensors\n"
    "       fsdp-engine info                  LibTorch, backends, devices, as JSON\n";

std::atomic<bool> stop_requested{false};  // set by the signal handler, read by the loop

int fail(const Error& error) {
  std::fprintf(stderr, "fsdp-engine: %s\n", to_line(error).c_str());
  for (const auto& detail : error.details) std::fprintf(stderr, "  %s\n", to_line(detail).c_str());
  return info(error.code).exit_code;
}

int print_info() {
  const Json out = {{"libtorch", TORCH_VERSION},
                    {"backends", {"shm", "gloo"}},
                    {"devices", {"cpu"}},
                    {"cores", std::thread::hardware_concurrency()},
                    {"kernels", row_kernels_name()},
                    {"bf16_products", product_dtype(at::kBFloat16) == at::kFloat ? "fp32" : "bf16"}};
  std::printf("%s\n", to_text(out, 2).c_str());
  return 0;
}

void set_threads(long long ranks) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  const auto cores = static_cast<long long>(std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(std::max<long long>(1, cores / std::max<long long>(1, ranks))));
}

Result<RunSpec> read_spec(const std::string& path) {
  auto text = read_file(path, std::size_t{4} << 20);
  if (!text) return text.error();
  auto parsed = parse_run_spec_text(*text);
  if (!parsed) return parsed.error();
  for (const auto& warning : parsed->warnings) std::fprintf(stderr, "fsdp-engine: ignored: %s\n", warning.c_str());
  return parsed->spec;
}

ErrorEvent event_of(const Error& error) {
  ErrorEvent event;
  event.what = error.field.empty() ? error.message : error.field + ": " + error.message;
  event.hint = error.hint;
  return event;
}

int train(const std::string& spec_path) {
  auto meeting = rendezvous_from_environment();
  if (!meeting) return fail(meeting.error());
  auto spec = read_spec(spec_path);
  if (!spec) return fail(spec.error());
  const char* events = std::getenv("FX_EVENTS");
  const Reporter reporter(events != nullptr ? events : (std::filesystem::path(spec->output) / "events.jsonl"),
                          meeting->rank);
  const auto report = [&](const Error& error) {
    reporter.error(event_of(error));
    return fail(error);
  };
  if (auto supported = check_supported(*spec, meeting->world_size); !supported) return report(supported.error());
  set_threads(spec->ranks);
  std::unique_ptr<Collectives> comm;
  if (meeting->world_size == 1) {
    comm = make_single();
  } else {
    auto transport = transport_from_environment();
    if (!transport) return report(transport.error());
    auto connected = connect(*meeting, *transport);
    if (!connected) return report(connected.error());
    comm = std::move(*connected);
  }
  try {
    auto done = run_training(*spec, *comm, reporter, stop_requested);
    return done ? 0 : report(done.error());
  } catch (const CollectiveError& error) {
    ErrorEvent event;
    event.what = error.what();
    event.where = error.label;
    event.collective = error.collective;
    event.sequence = error.sequence;
    event.hint = "another rank ended or stands still: the rank without such a message is the one to look at";
    reporter.error(std::move(event));
  } catch (const std::exception& error) {
    return report(internal_error(error.what()));
  }
  return info(ErrorCode::kUnavailable).exit_code;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "train") return train(arguments[1]);
  if (arguments.size() == 1 && arguments[0] == "info") return print_info();
  if (arguments.size() == 4 && arguments[0] == "logits") {
    auto written = write_logits(arguments[1], arguments[2], arguments[3]);
    return written ? 0 : fail(written.error());
  }
  const bool help = arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h");
  std::fputs(kUsage, help ? stdout : stderr);
  return help ? 0 : 2;
}

}  // namespace
}  // namespace fx::engine

int main(int argc, char** argv) {
  // Left alone, glibc raises this threshold by itself, and what libraries allocate creeps into the heap.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  fx::engine::use_block_cache_for_tensors(std::size_t{96} << 20);
  struct sigaction action {};
  action.sa_handler = [](int) { fx::engine::stop_requested = true; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  int code = 70;
  try {
    code = fx::engine::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fsdp-engine: %s\n", error.what());
  }
  std::fflush(nullptr);
  // Background threads of a broken process group must not hold up the end of a failed rank.
  std::_Exit(code);
}
