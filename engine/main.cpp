// fsdp-engine: one process is one rank.
#include <malloc.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/api/include/torch/version.h>

#include "engine/bench/comm_bench.h"
#include "engine/device/device.h"
#include "engine/kernels/matmul.h"
#include "engine/kernels/rows.h"
#include "engine/logits.h"
#include "engine/memory/block_cache.h"
#include "engine/train/dry_run_command.h"
#include "engine/train/train_command.h"
#include "spec/json.h"

namespace fx::engine {
namespace {

constexpr const char* kUsage =
    "usage: fsdp-engine train SPEC.json       one rank of a run; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say which\n"
    "       fsdp-engine dry-run SPEC.json [--ranks N] [--json]\n"
    "                                         what a step of N ranks sends and needs, without them and without weights\n"
    "       fsdp-engine bench comm [--ranks N] [--mib N] [--repeats N] [--transport shm|gloo|both]\n"
    "                                         rates of all-gather and reduce-scatter on this host, as JSON\n"
    "       fsdp-engine logits MODEL TOKENS.json OUT.safetensors\n"
    "       fsdp-engine gradients MODEL TOKENS.json OUT.safetensors\n"
    "       fsdp-engine info                  LibTorch, backends, devices, as JSON\n";

std::atomic<bool> stop_requested{false};  // set by the signal handler, read by the loop

Json devices() {
  Json out = {"cpu"};
  for (int i = 0; i < cuda_devices(); ++i) out.push_back("cuda:" + std::to_string(i));
  return out;
}

Json backends() {
  Json out = {"shm", "gloo"};
  if (cuda_devices() > 0) out.push_back("nccl");
  return out;
}

int print_info() {
  const Json out = {
      {"libtorch", TORCH_VERSION},     {"backends", backends()},
      {"devices", devices()},          {"cores", std::thread::hardware_concurrency()},
      {"kernels", row_kernels_name()}, {"bf16_products", product_dtype(at::kBFloat16) == at::kFloat ? "fp32" : "bf16"}};
  std::printf("%s\n", to_text(out, 2).c_str());
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "train") return train_command(arguments[1], stop_requested, make_model);
  if (arguments.size() >= 2 && arguments[0] == "dry-run")
    return dry_run_command({arguments.begin() + 1, arguments.end()});
  if (arguments.size() >= 2 && arguments[0] == "bench" && arguments[1] == "comm")
    return comm_bench_command({arguments.begin() + 2, arguments.end()});
  if (arguments.size() == 1 && arguments[0] == "info") return print_info();
  if (arguments.size() == 4 && (arguments[0] == "logits" || arguments[0] == "gradients")) {
    const auto write = arguments[0] == "logits" ? write_logits : write_gradients;
    auto written = write(arguments[1], arguments[2], arguments[3]);
    return written ? 0 : print_failure(written.error());
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
  fx::engine::use_block_cache_for_tensors();
  struct sigaction action {};
  action.sa_handler = [](int) { fx::engine::stop_requested = true; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a write over the file size limit is an error with a name instead
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
