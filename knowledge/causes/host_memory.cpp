#include "knowledge/causes/host_memory.h"

#include <algorithm>

namespace fx::knowledge {

bool in_shared_memory(const Scene& scene, int line) {
  const ExceptionEvent* exception = scene.exception_at(line);
  return exception != nullptr && std::any_of(exception->frames.begin(), exception->frames.end(), [&](int frame) {
           return matches_any(
               "semlock|multiprocessing/synchronize|multiprocessing/shared_memory|multiprocessing/heap|shm_open",
               scene.book.at(frame).low);
         });
}

const std::vector<Mark>& host_memory_marks() {
  static const std::vector<Mark> marks{
      {"host_oom",
       "out of memory: kill|oom-kill|oom_kill event|oom killed|oomkilled|oom_reaper|memory cgroup out of memory|killed "
       "due to memory pressure"
       "|node running low on memory|exceeds the memory usage threshold|task*: out of "
       "memory|defaultcpuallocator|exceeded memory limit"
       "|exceeded job memory limit|slurm*oom|std::bad_alloc|memoryerror|cannot allocate memory|_ooms_|unable to "
       "allocate*memory"
       "|oom killer|out-of-memory handler|invoked oom|memory limit*exceeded"},
      {"host_memory",
       "rss*gib|rss*gb|anon-rss|gib total|free -g|free -h|mem=|memory used|memory.max|memory limit|available*gib|host "
       "memory|cpu virtual memory|htop|host ram|cpu memory|ram usage"
       "|shmem|mem:_|memory users|swap|vms |memavailable|%mem|maxrss|reqmem|memory.current|cpu_ram|pin_memory|cpu ram"},
      {"host_load",
       "loading checkpoint shards|loading model|from_pretrained|loading weights|loading base|building _|creating _|loading "
       "pretrained|load model"
       "|initializing|wrapping|applying fsdp|starting*processes|materializ|init "
       "model|loading shard"
       "|fetching*files|low_cpu_mem_usage|device_map|loading safetensors|model config|quantiz|load_state_dict|convert*checkpoint"},
      {"host_run",
       "step:|step |iter |iteration|epoch|compute log prob|generate "
       "sequences|it/s|s/it|timing_s|rollout|samples/s|update_actor"},
  };
  return marks;
}

HostMemory judge_host_memory(const Scene& scene) {
  HostMemory out;
  const auto& book = scene.book;
  for (const int line : book.find("core", "host_oom").lines) {
    const auto low = book.at(line).low_body();  // hosts are called "gpu-07", too
    const bool elsewhere = matches_any(
        "ibv_|cuda|reg_mr|gpu|memlock|hip out|how to address|_0 workers (tasks * actors) killed|_0 workers killed|refer to the doc|potential root causes|xid|nvrm",
        low);
    // The class of a GPU's error ends in the name of the host's.
    const bool gpu = matches_any("outofmemoryerror", low) && !matches_any("ray.exceptions.outofmemoryerror", low);
    if (!elsewhere && !gpu) out.proof.push_back(line);
  }
  for (const auto& exit : scene.exits) {
    if (exit.signal != 9) continue;
    out.killed.push_back(exit.line);
    // The launcher's summary says it in words below the code.
    for (int below = book.below(exit.line), left = 2; below >= 0 && left > 0; below = book.below(below), --left) {
      if (book.at(below).low.find("signal 9 (sigkill)") != std::string::npos) out.killed.push_back(below);
    }
  }
  const int end = !out.proof.empty()    ? out.proof.front()
                  : !out.killed.empty() ? out.killed.front()
                                        : static_cast<int>(book.lines.size());
  for (const int line : book.find("core", "host_memory").lines) {
    if (out.figures.size() < 6) out.figures.push_back(line);
  }
  const auto& load = book.find("core", "host_load").lines;
  out.loading = !load.empty();
  // Progress of a shard loader counts in it/s too: that is no training step.
  const auto& run = book.find("core", "host_run").lines;
  out.running =
      scene.stepped_before(end + 1) || std::any_of(run.begin(), run.end(), [&](int line) {
        const auto& low = book.at(line).low;
        return line <= end &&
               !matches_any("loading|shard|fetching|download|stepid|step tasks|cancelled|map (|tokeniz|oom", low) &&
               matches_any(
                   "step:*|step *loss|iter *loss|epoch*loss|compute log prob|generate sequences|timing_s|update_actor"
                   "|step *it/s|training step|epoch*it/s|iteration *|step *mem|step *rss|step * "
                   "s|it/s]|s/it]|samples/s",
                   low);
      });
  // Lines of several processes may overtake each other: a run that tells of steps anywhere and of no load was running.
  out.running = out.running || (!out.loading && !scene.steps.empty()) ||
                (!out.loading && scene.book.mentions("timing_s/|actor/pg_loss"));
  return out;
}

}  // namespace fx::knowledge
