// Signs that the host's RAM ran out, shared by the two host-RAM causes and rank-killed.
#pragma once

#include <vector>

#include "knowledge/log/scene.h"

namespace fx::knowledge {

struct HostMemory {
  std::vector<int> proof;    // the OOM killer, Ray's monitor, the cgroup, or an allocator without RAM say so
  std::vector<int> killed;   // processes ended by SIGKILL (or exit 137)
  std::vector<int> figures;  // lines that show how full the host was
  std::vector<int> spare;    // lines that speak against it: a share in use far from full, a kernel log without a kill
  bool loading = false;      // before the first step, while weights were loaded or wrapped
  bool running = false;      // after steps or rollouts ran
};

// An exception that rose while a process made a semaphore, a queue or a segment in the host's shared memory (/dev/shm).
bool in_shared_memory(const Scene& scene, int line);
const std::vector<Mark>& host_memory_marks();
HostMemory judge_host_memory(const Scene& scene);

}  // namespace fx::knowledge
