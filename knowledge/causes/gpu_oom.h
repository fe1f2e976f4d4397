// Judges a GPU out-of-memory by the allocator's own numbers and the frame that ran out; shared by the gpu-oom causes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {

enum class OomKind { kNone, kModelLoad, kOptimizer, kActivations, kLogits, kSave, kFragmentation, kSharedDevice };

struct OomJudgement {
  OomKind kind = OomKind::kNone;
  double score = 0;
  std::vector<int> lines;  // proof, most telling first
  std::optional<int> root_rank;
  std::string summary;
};

OomJudgement judge_gpu_oom(const Scene& scene);
// The claim of one kind: the judgement's, if it is of this kind.
Claim claim_gpu_oom(const Scene& scene, OomKind kind);

}  // namespace fx::knowledge
