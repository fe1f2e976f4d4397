#include <algorithm>
#include <map>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

// Lines in which several ranks of one host choose the same device by themselves.
std::vector<int> shared_choices(const Scene& s, const MarkView& m) {
  std::map<long long, std::map<int, int>> ranks_by_device;
  for (const int line : m("choice").lines) {
    const auto& row = s.book.at(line);
    if (row.rank < 0 || matches_any("file \"|error|cuda_visible_devices=", row.low)) continue;
    for (const std::string_view key :
         {"set_device(", "current_device()=", "current_device() = ", "cuda:", "using gpu "}) {
      if (const auto device = integer_after(row.low, key); device && *device >= 0) {
        ranks_by_device[*device].emplace(row.rank, line);
        break;
      }
    }
  }
  std::vector<int> out;
  for (const auto& [device, ranks] : ranks_by_device) {
    if (ranks.size() < 2) continue;
    for (const auto& [rank, line] : ranks) out.push_back(line);
  }
  return out;
}

// Out of memory on device 0 in the middle of several processes of the same size: they all went there.
std::vector<int> crowded_device(const Scene& s, bool& many) {
  std::vector<int> out;
  for (const auto& oom : s.ooms) {
    const auto& low = s.book.at(oom.line).low;
    int others = 0;
    double smallest = 1e30, largest = 0;
    for (auto at = low.find("process "); at != std::string::npos; at = low.find("process ", at + 8)) {
      const auto size = size_after(std::string_view(low).substr(at), " has ");
      if (!size || !integer_after(std::string_view(low).substr(at), "process ")) continue;
      ++others;
      smallest = std::min(smallest, *size);
      largest = std::max(largest, *size);
    }
    if (oom.rank > 0 && oom.device == 0 && others >= 2 && largest < 1.3 * smallest) {
      out.push_back(oom.line);
      many = many || others >= 5;
    }
  }
  return out;
}

// A machine has 1, 2, 4, 8 or 16 GPUs: a list of another length lacks one.
bool device_missing(const Scene& s, const MarkView& m) {
  for (const int line : m("lists").lines) {
    const int next = s.book.below(line);
    if (next < 0 || s.book.at(line).low.find("wc -l") == std::string::npos) continue;
    const auto count = integer_after(s.book.at(next).low, "");
    if (count && *count > 2 && *count < 16 && (*count & (*count - 1)) != 0) return true;
  }
  return false;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  const auto& duplicate = m("duplicate");
  const auto& ordinal = m("ordinal");
  if (!duplicate && !ordinal) {
    const auto choices = shared_choices(s, m);
    bool many = false;
    const auto crowd = crowded_device(s, many);
    const bool failed = !s.ooms.empty() || !s.exceptions.empty() || !stall_signs(s).empty();
    Claim out;
    if (!failed || (choices.empty() && crowd.empty())) return out;
    out.score = !crowd.empty() && (!choices.empty() || many) ? 0.93 : 0.84;
    for (const auto* lines : {&choices, &crowd}) {
      for (std::size_t i = 0; i < lines->size() && i < 3; ++i) out.show((*lines)[i]);
    }
    return out;
  }
  Claim out = claim(duplicate ? 0.95 : m("visible") ? 0.93 : 0.75, duplicate ? duplicate : ordinal, 2);
  if (m("offbus") || device_missing(s, m)) out.score = 0.3;  // a device that died explains a missing ordinal
  // Only the warning about the barrier's guess of a device, nothing failed on it.
  const bool barrier_guess = !duplicate && matches_any("to perform barrier", s.book.at(ordinal.first()).low);
  if (barrier_guess) out.score = 0.2;
  for (const int line : m("visible").telling) {
    if (out.lines.size() < 6) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule rank_to_gpu_mapping() {
  return {
      "rank-to-gpu-mapping",
      {{"duplicate",
        "duplicate gpu detected|both on cuda device|multiple ranks*same device|same gpu*ranks"
        "|using the same device"},
       {"ordinal",
        "invalid device ordinal|invalid device id|device ordinal*out of range"
        "|cuda_error_invalid_device|device=*num_gpus=|please ensure that all devices"
        "|exceeds available gpus|no cuda gpus are available|more processes than*gpu|device >= 0 && device < num_gpus"
        "|using gpu * to perform barrier"},
       {"choice", "set_device(|current_device()|device cuda:|device: cuda:|on cuda:|using gpu "},
       {"visible",
        "cuda_visible_devices|nproc_per_node|nproc-per-node|ngpu=|num_processes|device_count"
        "|current_device|--gpus|gres=|gpus-per-task|gpu-bind"},
       {"offbus",
        "fallen off the bus|rev ff|xid*79|gpu is lost|unable to determine the device handle"
        "|probe routine failed|ecc error"},
       {"lists", "nvidia-smi -l"}},
      evaluate};
}

}  // namespace fx::knowledge
