#include <algorithm>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  std::vector<int> errors;
  for (const auto* name : {"key", "world", "size"}) {
    for (const int line : m(name).lines) {
      const auto& low = s.book.at(line).low;
      if (matches_any("error|missing|does not|not supported|mismatch|expected|differ|exception|cannot", low) &&
          !matches_any("file \"", low))
        errors.push_back(line);
    }
  }
  if (errors.empty()) return out;
  const bool per_rank = std::any_of(errors.begin(), errors.end(), [&](int line) {
    return matches_any(
        "dp_rank|_rank_|rank_*|world size|world_size|gpus|ranks|random_states|universal|data parallel size|shards",
        s.book.at(line).low);
  });
  const bool loads = s.book.mentions("checkpoint|resum|load_state|loading states|restor");
  if (!per_rank || !loads) return out;
  const bool keyed = m("key").count > 0;
  out.score = keyed || m("world") ? 0.92 : 0.7;
  for (const int line : errors) {
    if (out.lines.size() < 4) out.show(line);
  }
  return out.show(m("resume"), 1);
}

}  // namespace

CauseRule checkpoint_world_size_mismatch() {
  return {"checkpoint-world-size-mismatch",
          {{"key",
            "missing key in checkpoint state_dict|dp_rank_|key*rank_*not found|keyerror*rank"
            "|missing*rank*in checkpoint"},
           {"world",
            "different*world size|world size*changed|world_size*changed|dp world size"
            "|loaded checkpoint*world|saved with*ranks|saved with*world|saved on*gpus|saved with*gpus"
            "|saved using*gpus|does not support*different*world|checkpoint*world_size"
            "|checkpoint*world size|number of ranks*checkpoint|zero*checkpoint*different"
            "|data parallel size*checkpoint|expected*shards*found|automatic adjustment of zero"
            "|universal checkpoint|resharding*not supported|elastic*checkpoint"},
           {"size",
            "flat*size mismatch|optim*size mismatch|size mismatch*flat|size mismatch*exp_avg"
            "|local shard*size|rng_state_*|random_states_|loader_state*rank|dataloader*state"},
           {"resume", "loading the checkpoint|resum|load_state|loading states|restoring"}},
          evaluate};
}

}  // namespace fx::knowledge
