// engine_memory MODEL_FOLDER RANKS DTYPE RESHARD TOKENS: bytes of tensors that a rank of the engine holds at most in a
// training step, the largest of all ranks, as JSON. DTYPE fp32 or bf16, RESHARD 1 or 0. Weights are zeros.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/comm/local.h"
#include "engine/files/hf_folder.h"
#include "engine/train/memory_testing.h"
#include "engine/train/policy.h"
#include "spec/json.h"

namespace {

using namespace fx;
using namespace fx::engine;

int run(const std::string& folder, int ranks, const std::string& dtype, bool reshard, long long tokens) {
  const auto shape = read_folder_shape(folder);
  if (!shape) return std::fprintf(stderr, "%s\n", to_line(shape.error()).c_str()), 2;
  testing::MemoryCase what;
  what.shape = *shape, what.tokens = tokens;
  what.policy.precision.param_dtype = scalar_type(dtype);
  what.policy.reshard_after_forward = reshard;
  double step = 0, optimizer = 0, after = 0;
  std::mutex mutex;
  run_local_ranks(ranks, [&](Collectives& comm) {
    const testing::MemoryPeaks peaks = testing::measure_memory(comm, what);
    const std::lock_guard lock(mutex);
    step = std::max({step, peaks.forward, peaks.backward});
    optimizer = std::max(optimizer, peaks.optimizer);
    after = std::max(after, peaks.after);
  });
  const Json out = {{"step", step}, {"optimizer", optimizer}, {"after", after}};
  std::printf("%s\n", to_text(out).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  return run(argv[1], std::atoi(argv[2]), argv[3], std::string(argv[4]) == "1", std::atoll(argv[5]));
}
