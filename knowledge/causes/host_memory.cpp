#include "knowledge/causes/host_memory.h"

#include <algorithm>
#include <optional>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {

bool in_shared_memory(const Scene& scene, int line) {
  const ExceptionEvent* exception = scene.exception_at(line);
  return exception != nullptr && std::any_of(exception->frames.begin(), exception->frames.end(), [&](int frame) {
           return matches_any(
               "semlock|multiprocessing/synchronize|multiprocessing/shared_memory|multiprocessing/heap|shm_open",
               scene.book.at(frame).low);
         });
}

namespace {

constexpr double kFarFromFull = 50;  // percent

// Somebody asked the kernel's log for the OOM killer, and the next prompt follows at once.
bool asked_in_vain(const LogBook& book, int line) {
  const auto& low = book.at(line).low;
  const int below = book.below(line);
  const auto& prompts = book.find("core", "shell").lines;
  return matches_any("dmesg*grep|journalctl*grep", low) &&
         matches_any("oom|killed process|out of memory", low.substr(low.find("grep"))) &&
         !matches_any("/dev/null|grep -c|grep -q|grep -ic|grep -ci|wc -l|grep -v", low) &&
         std::binary_search(prompts.begin(), prompts.end(), below);
}

// "host_mem 18%": the share of the host's memory that a line says is in use, in percent. What is called a CPU's may be
// one process's.
std::optional<double> share_in_use(std::string_view low) {
  for (const std::string_view key :
       {"host_mem", "host mem", "host_ram", "host ram", "system_memory", "system memory", "system_ram", "system ram"}) {
    const auto at = low.find(key);
    if (at == std::string_view::npos) continue;
    const auto percent = low.find('%', at);
    const auto digit = low.find_first_of("0123456789", at);
    if (percent == std::string_view::npos || digit == std::string_view::npos || digit - at > 24 ||
        low.substr(digit, percent - digit).find_first_not_of("0123456789. ") != std::string_view::npos)
      continue;
    return number_after(low.substr(digit), "");
  }
  return std::nullopt;
}

// What speaks against a full host before the process ended at this line.
std::vector<int> spare_signs(const Scene& scene, int end, bool running) {
  std::vector<int> out;
  std::optional<double> last;
  int at = -1;
  for (const int line : scene.book.find("core", "host_share").lines) {
    if (line > end) break;
    if (const auto share = share_in_use(scene.book.at(line).low)) last = share, at = line;
  }
  if (running && last && *last < kFarFromFull) out.push_back(at);
  for (const int line : scene.book.find("core", "shell").lines) {
    if (asked_in_vain(scene.book, line)) out.push_back(line);
  }
  return out;
}

}  // namespace

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
      {"host_share",
       "host_mem*%|host mem*%|host_ram*%|host ram*%|system_memory*%|system memory*%|system_ram*%|system ram*%"},
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
    const bool command = matches_any("$ *grep", low);  // who looks for it has not found it yet
    if (!elsewhere && !gpu && !command) out.proof.push_back(line);
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
  out.spare = spare_signs(scene, end, out.running);
  return out;
}

}  // namespace fx::knowledge
