#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/participation.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

constexpr std::array<std::string_view, 12> kSlow = {
    ".map",        ".save_to_disk",        "snapshot_download", "load_dataset",          "urlretrieve",
    ".extractall", ".train_from_iterator", "hf_hub_download",   ".download_and_prepare", ".train_new_from_iterator",
    "consolidate", "dcp_to_torch_save"};
// Verbs that begin the names of such work.
constexpr std::array<std::string_view, 9> kSlowVerbs = {"tokenize_",   "tokenise_",   "preprocess",
                                                        "download",    "convert_",    "prepare_data",
                                                        "build_index", "build_cache", "pack_data"};

bool is_slow(const Event& event) {
  if (!event.is(EventKind::kCall) || event.callee.starts_with("torch.")) return false;
  const std::string_view name = last_part(event.callee);
  if (name == "convert_tokens_to_ids") return false;
  for (const std::string_view some : kSlow) {
    if (event.callee == some || (some[0] != '.' && name == some)) return true;
  }
  // A method says less than a function of that name.
  if (event.callee.starts_with(".")) return false;
  return std::ranges::any_of(kSlowVerbs, [&](std::string_view verb) { return name.starts_with(verb); });
}

// Only the first rank passes: `rank == 0`, `is_main_process`, `not rank`.
bool for_the_first_rank(const Guard& guard) {
  const std::string_view test = guard.test.text();
  if (contains(test, "!=")) return !guard.positive;
  if (contains(test, ">")) return !guard.positive;
  return guard.positive;
}

const Event* group_before(const Trace& trace, const Event& event) {
  for (const Event& made : trace.events) {
    if (made.index < event.index && made.is(EventKind::kInitGroup)) return &made;
  }
  return nullptr;
}

bool someone_waits(const Trace& trace, const Event& work, const Guard& guard) {
  for (std::size_t i = work.index + 1; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (is_joint(trace, event) && !under(event, &guard)) return true;
  }
  return false;
}

}  // namespace

void rank0_long_work_default_timeout(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    if (!trace.has(EventKind::kInitGroup)) continue;
    for (const Event& work : trace.events) {
      if (work.guard == nullptr || !is_slow(work)) continue;
      const Guard* guard = rank_condition(work, false);
      if (guard == nullptr || !for_the_first_rank(*guard)) continue;
      const Event* group = group_before(trace, work);
      if (group == nullptr || group->argument("timeout", 2) != nullptr || group->arguments->has_unknown()) continue;
      if (someone_waits(trace, work, *guard)) findings.at(guard->file, guard->statement);
    }
  }
}

}  // namespace fx::knowledge::checks
