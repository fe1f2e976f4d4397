#include "knowledge/plan/machine.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/text.h"

namespace fx::knowledge::plan {
namespace {

// One core with AVX-512 under LibTorch's matrix products, in the faster of bf16 and fp32: GFLOP/s (measured, square
// 2048: 153 and 206 on two Xeons). A machine's own figure is better: hardware.gpu_tflops, which the engine's runs
// report.
constexpr double kCoreGflops = 150;
// A core's rate while all the others multiply too, over its rate alone (measured: 131 of 170 GFLOP/s on two cores).
constexpr double kBusyShare = 0.77;
// Fused attention over matrix products (measured share of a 512-token step).
constexpr double kAttentionShare = 0.45;
// Memory bandwidth of one core: GB/s (measured: copy of 64 MiB). Its threads share it.
constexpr double kCoreBandwidth = 28;
// Ranks of one host through the engine's shared memory: GB/s (measured 5 - 13 for the copy alone, two copies a byte).
constexpr double kSharedMemoryBandwidth = 3;

// Total memory of this host in GiB from /proc/meminfo; 0 when it cannot be read.
double host_memory_gib() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  double kib = 0;
  while (file >> word) {
    if (word == "MemTotal:" && file >> kib) return kib / (1024.0 * 1024.0);
  }
  return 0;
}

Machine cpu_machine(const HardwareArgs& a) {
  Machine m;
  m.cpu = true;
  const double cores =
      a.cpu_cores ? static_cast<double>(*a.cpu_cores) : std::max(1u, std::thread::hardware_concurrency());
  m.host_memory_gib = a.host_memory_gib.value_or(host_memory_gib());
  if (m.host_memory_gib <= 0) m.host_memory_gib = 16;
  m.cores_per_rank = std::max(0.1, cores / static_cast<double>(a.gpus_per_node));
  const double used = std::max(1.0, m.cores_per_rank) * std::min(1.0, m.cores_per_rank);
  m.gpu.name = "CPU (" + std::to_string(static_cast<long long>(cores)) + " cores)";
  m.gpu.memory_gib = m.host_memory_gib / static_cast<double>(a.gpus_per_node);
  m.gpu.peak_tflops = m.gpu.gemm_tflops = a.gpu_tflops.value_or(kCoreGflops * used / 1000);
  // A measured rate is that of a rank alone with all its threads.
  if (a.gpus_per_node > 1 || (cores > 1 && !a.gpu_tflops)) m.gpu.gemm_tflops *= kBusyShare;
  m.gpu.attention_tflops = kAttentionShare * m.gpu.gemm_tflops;
  m.gpu.memory_gb_s = kCoreBandwidth * std::max(std::min(1.0, used), used / kThreadsOfACore);
  m.gpu.link = Link::kShared;
  m.gpu.link_gb_s = kSharedMemoryBandwidth;
  m.gpu.pcie_gb_s = kCoreBandwidth;
  m.gpu.node_gb_s = 1;
  m.gpu.source = a.gpu_tflops ? "hardware.gpu_tflops" : "measured on hosts with AVX-512";
  return m;
}

// A card that the table lacks: only what the arguments say, the rest in proportion to current data-centre cards.
Gpu described_gpu(const HardwareArgs& a) {
  Gpu gpu;
  gpu.name = quote_input(a.gpu, 60) + " (from the arguments)";
  gpu.peak_tflops = *a.gpu_tflops;
  gpu.gemm_tflops = 0.7 * gpu.peak_tflops;
  gpu.attention_tflops = 0.32 * gpu.peak_tflops;
  gpu.memory_gb_s = a.gpu_bandwidth_gb_s.value_or(6 * gpu.peak_tflops);
  gpu.link_gb_s = 11, gpu.pcie_gb_s = 25, gpu.node_gb_s = 25;
  gpu.source = "arguments";
  return gpu;
}

}  // namespace

Result<Machine> read_machine(const HardwareArgs& a) {
  Machine m;
  const std::string name = to_lower(trim(a.gpu));
  if (name == "cpu") {
    m = cpu_machine(a);
  } else {
    auto found = find_gpu(a.gpu);
    if (found) {
      m.gpu = *found;
    } else if (a.gpu_memory_gib && a.gpu_tflops) {
      m.gpu = described_gpu(a);
    } else {
      return found.error();
    }
    if (a.gpu_tflops && found) {
      const double ratio = *a.gpu_tflops / m.gpu.peak_tflops;
      m.gpu.peak_tflops *= ratio, m.gpu.gemm_tflops *= ratio, m.gpu.attention_tflops *= ratio;
    }
    if (a.gpu_bandwidth_gb_s) m.gpu.memory_gb_s = *a.gpu_bandwidth_gb_s;
    m.host_memory_gib = a.host_memory_gib.value_or(0);
  }
  if (a.gpu_memory_gib) m.gpu.memory_gib = *a.gpu_memory_gib;
  m.gpus_per_node = static_cast<double>(a.gpus_per_node);
  m.nodes = static_cast<double>(a.nodes);
  m.node_gb_s = a.interconnect_gb_s.value_or(m.gpu.node_gb_s);
  return m;
}

}  // namespace fx::knowledge::plan
