#include "knowledge/causes/gpu_oom.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string gib(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", bytes / kGiB);
  return text;
}

// The out-of-memory line with the most figures, the earliest of equals; warnings only when nothing else is there.
const GpuOom* choose(const std::vector<GpuOom>& ooms) {
  const GpuOom* best = nullptr;
  const auto worth = [](const GpuOom& oom) {
    return (oom.warning ? 0 : 4) + (oom.allocated >= 0) + (oom.capacity >= 0);
  };
  for (const auto& oom : ooms) {
    if (oom.request > 1e15) continue;  // a size nobody asks for: garbage read from an unfinished transfer
    if (best == nullptr || worth(oom) > worth(*best)) best = &oom;
  }
  return best;
}

// What the named processes hold without this one: that is the one whose size is nearest to what its PyTorch holds,
// unless it is named as "this process". -1: fewer than two are named.
double named_others(const GpuOom& oom) {
  double sum = 0;
  for (const double size : oom.processes) sum += std::max(0.0, size);
  if (oom.process > 0) return oom.processes.empty() ? -1 : sum;
  if (oom.processes.size() < 2) return -1;
  if (oom.allocated < 0) return sum - *std::max_element(oom.processes.begin(), oom.processes.end());
  const double own = oom.allocated + std::max(0.0, oom.reserved_unused);
  return sum - *std::min_element(oom.processes.begin(), oom.processes.end(),
                                 [&](double a, double b) { return std::abs(a - own) < std::abs(b - own); });
}

// Bytes on the device that neither this process's PyTorch nor its CUDA context explain; -1 unknown.
double held_by_others(const GpuOom& oom) {
  if (const double others = named_others(oom); others >= 0) return others;
  if (oom.capacity < 0 || oom.free < 0 || oom.allocated < 0) return -1;
  const double own = oom.process > 0 ? oom.process : oom.allocated + std::max(0.0, oom.reserved_unused) + 1.5 * kGiB;
  return oom.capacity - oom.free - own;
}

// Several ranks failed on one and the same device: the others on it are ranks of this job.
bool ranks_share_device(const Scene& scene) {
  std::set<int> ranks;
  for (const auto& oom : scene.ooms) {
    if (oom.rank >= 0 && oom.device >= 0 && oom.rank != oom.device && oom.device == scene.ooms.front().device)
      ranks.insert(oom.rank);
  }
  return ranks.size() >= 2 && !scene.book.mentions("cuda_visible_devices");
}

// On one host the device that every failing line names is the rank; each process may call its own one 0.
std::optional<int> rank_of_device(const Scene& scene) {
  int device = -1;
  for (const auto& oom : scene.ooms) {
    if (oom.warning) continue;
    if (oom.rank >= 0 || oom.device <= 0 || (device >= 0 && oom.device != device)) return std::nullopt;
    device = oom.device;
  }
  return device > 0 && scene.world <= 8 ? std::optional<int>(device) : std::nullopt;
}

// First value of a setting in the config or, as key=value or "key": value, in the log.
double setting(const Scene& scene, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    if (const auto value = number_after(scene.setting(std::string(key)), ""); value && *value > 0) return *value;
  }
  for (const auto key : keys) {
    const std::string name(key);
    for (const auto& line : scene.book.lines) {
      if (line.low.find(name) == std::string::npos) continue;
      for (const auto& text : {name + "=", name + ":", name + "\":", name + " =", name + " "}) {
        if (const auto value = number_after(line.low, text); value && *value > 0) return *value;
      }
    }
  }
  return -1;
}

// True when some line names a tensor of three sizes, the last one a vocabulary, whose bytes are those asked for.
bool is_named_shape(const Scene& scene, double request) {
  return std::any_of(scene.book.lines.begin(), scene.book.lines.end(), [&](const LogLine& line) {
    for (auto at = line.low.find_first_of("(["); at != std::string::npos; at = line.low.find_first_of("([", at + 1)) {
      const auto end = line.low.find_first_of(")]", at);
      if (end == std::string::npos || end - at > 40) continue;
      const auto sizes = integers_in(std::string_view(line.low).substr(at, end - at));
      if (sizes.size() != 3 || sizes[2] < 10000) continue;
      const double values =
          static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]) * static_cast<double>(sizes[2]);
      if (std::abs(2 * values - request) < 0.01 * request || std::abs(4 * values - request) < 0.01 * request)
        return true;
    }
    return false;
  });
}

// True when the request is batch x sequence x vocabulary x 2 or 4 bytes (or that of one sequence).
bool is_logits_size(const Scene& scene, double request) {
  const double vocabulary = setting(scene, {"vocab_size", "vocabulary", "padded_vocab_size", "vocab"});
  const double sequence = setting(
      scene, {"seq_length", "seq_len", "sequence_length", "max_seq_length", "max_seq_len", "max_length",
              "sequence length", "sequence_len", "seqlen", "seq len", "cutoff_len", "block_size", "longest_seq_length",
              "max_tokens_per_gpu", "max_token_len", "max_model_len", "context length", "n_ctx", "seq"});
  if (vocabulary < 1000 || sequence < 16 || request <= 0) return false;
  const double batch = std::max(
      1.0, setting(scene, {"local_batch_size", "micro_batch_size", "per_device_train_batch_size", "micro_batch",
                           "local batch size", "micro_batch_size_per_gpu", "train_micro_batch_size_per_gpu",
                           "num_generations", "batch_size", "mbs", "batch size", "batch"}));
  for (const double bytes : {2.0, 4.0}) {
    for (const double rows : {batch, 1.0}) {
      if (std::abs(rows * sequence * vocabulary * bytes - request) < 0.03 * request) return true;
    }
  }
  return false;
}

std::string figures(const GpuOom& oom) {
  std::string out = "it asked for " + (oom.request > 0 ? gib(oom.request) : "more");
  if (oom.capacity > 0) out += " on a " + gib(oom.capacity) + " device";
  if (oom.free >= 0) out += " with " + gib(oom.free) + " free";
  if (oom.allocated >= 0) out += "; PyTorch held " + gib(oom.allocated);
  if (oom.reserved_unused >= 0) out += ", " + gib(oom.reserved_unused) + " of its reserve unused";
  return out;
}

void by_phase(const Scene& scene, const GpuOom& oom, OomJudgement& out) {
  const Phase phase = scene.phase_at(oom.line);
  const bool framed = scene.exception_at(oom.line) != nullptr && !scene.exception_at(oom.line)->frames.empty();
  const double sure = framed ? 0.9 : 0.75;
  switch (phase) {
    case Phase::kLoad:
      out.kind = OomKind::kModelLoad, out.score = scene.stepped_before(oom.line) && !framed ? 0.5 : sure;
      break;
    case Phase::kOptimizer:
      out.kind = OomKind::kOptimizer, out.score = sure;
      break;
    case Phase::kSave:
      out.kind = OomKind::kSave, out.score = sure;
      break;
    case Phase::kLogits:
      out.kind = OomKind::kLogits, out.score = sure;
      break;
    case Phase::kForward:
    case Phase::kBackward:
    case Phase::kGenerate:
      out.kind = OomKind::kActivations, out.score = framed ? 0.85 : 0.65;
      break;
    case Phase::kUnknown:
      out.kind = OomKind::kActivations;
      out.score = scene.steps.empty() ? 0.55 : 0.7;
      break;
  }
}

bool stepped_between(const Scene& scene, int from, int to) {
  return std::any_of(scene.steps.begin(), scene.steps.end(),
                     [&](const StepEvent& step) { return step.line > from && step.line < to; });
}

// A forward or backward that fails where it fitted before the optimizer's state came into being or was restored: the
// state is named, or a run without it is said to fit.
void consider_new_optimizer_state(const Scene& scene, const GpuOom& oom, OomJudgement& out) {
  if (out.kind != OomKind::kActivations) return;
  const auto named = scene.book.lines_matching(
      "load*optimizer|load optim|optim shards|optim_world_size|load*optim_state|restor*optimizer|optimizer*restored|optimizer*loaded|resum*optimizer|optimizer state*gib|with "
      "optimizer state|exp_avg|adam*gib|moments");
  const auto fitted = scene.book.lines_matching(
      "without optimizer*fit|fresh run*fit|step 1*fit|scratch*fit|from iteration 0*|fresh run|without resuming*|fresh*fine|scratch*fine|without "
      "resum*fine|without resum*fit|no resum*fit|first run*fine|same config*fine|same config*fit|reference*fine");
  const auto resumed = scene.book.lines_matching("resum|loaded checkpoint|load_checkpoint|restored*checkpoint");
  const bool compared = !fitted.empty() && !resumed.empty();
  for (const auto& lines : {named, compared ? fitted : std::vector<int>{}, compared ? resumed : std::vector<int>{}}) {
    for (const int line : lines) {
      if (line >= oom.line || scene.in_traceback(line) || matches_any("offload", scene.book.at(line).low) ||
          stepped_between(scene, line, oom.line))
        continue;
      out.kind = OomKind::kOptimizer;
      out.score = compared ? 0.88 : 0.75;
      out.lines.insert(out.lines.begin(), line);
      break;
    }
  }
}

}  // namespace

OomJudgement judge_gpu_oom(const Scene& scene) {
  OomJudgement out;
  const GpuOom* oom = choose(scene.ooms);
  if (oom == nullptr) return out;
  out.lines.push_back(oom->line);
  if (const int telling = scene.phase_line(oom->line); telling >= 0) out.lines.push_back(telling);
  std::vector<int> failed;
  for (const auto& other : scene.ooms) {
    if (!other.warning) failed.push_back(other.line);
    if (out.lines.size() < 5 && other.line != oom->line) out.lines.push_back(other.line);
  }
  if (failed.empty()) failed.push_back(oom->line);
  out.root_rank = scene.one_rank(failed);
  if (!out.root_rank) out.root_rank = rank_of_device(scene);

  if (matches_any("failed to clone*state_dict", scene.book.at(oom->line).low)) {
    out.kind = OomKind::kSave;
    out.score = 0.93;
    out.summary = "The full state dict did not fit while it was gathered: " + figures(*oom) + ".";
    return out;
  }
  const double others = held_by_others(*oom);
  if (others > std::max(3 * kGiB, 0.12 * oom->capacity) && !ranks_share_device(scene)) {
    out.kind = OomKind::kSharedDevice;
    out.score = 0.88;
    out.summary = "Another process holds " + gib(others) + " of this GPU: " + figures(*oom) + ".";
    return out;
  }
  if (oom->reserved_unused > std::max(kGiB, 0.045 * oom->capacity) && oom->reserved_unused > 1.5 * oom->request &&
      oom->request > 0) {
    out.kind = OomKind::kFragmentation;
    out.score = 0.93;
    out.summary = "Enough memory was reserved but it is split up: " + figures(*oom) + ".";
    return out;
  }
  by_phase(scene, *oom, out);
  if (out.kind == OomKind::kActivations &&
      (is_logits_size(scene, oom->request) || is_named_shape(scene, oom->request))) {
    out.kind = OomKind::kLogits;
    out.score = 0.88;
  }
  consider_new_optimizer_state(scene, *oom, out);
  out.summary =
      "The GPU ran out of memory (" + std::string(to_string(scene.phase_at(oom->line))) + "): " + figures(*oom) + ".";
  return out;
}

Claim claim_gpu_oom(const Scene& scene, OomKind kind) {
  const OomJudgement judged = judge_gpu_oom(scene);
  Claim out;
  if (judged.kind != kind) return out;
  out.score = judged.score;
  out.lines = judged.lines;
  out.root_rank = judged.root_rank;
  out.summary = judged.summary;
  return out;
}

}  // namespace fx::knowledge
