#include "engine/checkpoint/checkpoint.h"

#include <algorithm>

#include "base/text.h"
#include "engine/checkpoint/state_file.h"

namespace fx::engine {

namespace fs = std::filesystem;

std::vector<CheckpointInfo> complete_checkpoints(const fs::path& root) {
  std::vector<CheckpointInfo> found;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(root, code)) {
    const std::string name = entry.path().filename().string();
    if (name.compare(0, 5, "step_") != 0 || !fs::exists(entry.path() / kCommitMarker, code)) continue;
    if (const auto step = to_integer(name.substr(5))) {
      found.push_back({entry.path(), *step});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return found;
}

fs::path checkpoint_root(const fs::path& output) {
  return output / "checkpoints";
}

std::optional<CheckpointInfo> newest_checkpoint(const fs::path& root) {
  const auto complete = complete_checkpoints(root);
  if (complete.empty()) return std::nullopt;
  return complete.front();
}

Result<std::int64_t> save_checkpoint(const fs::path& root, long long step, long long keep, Groups& groups,
                                     AdamW& optimizer, Mesh& mesh) {
  Collectives& comm = mesh.world();
  const fs::path folder = checkpoint_folder(root, step);
  const SafetensorsHeader header = plan_state(groups);
  Result<void> mine;
  if (comm.rank() == 0) mine = begin_checkpoint(folder, header);
  if (auto all = agree(comm, "creating the checkpoint", mine); !all) return all.error();
  if (mesh.replica() == 0) mine = write_state(folder, header, groups, state_of(groups, optimizer));  // copies are equal
  if (auto all = agree(comm, "writing the checkpoint", mine); !all) return all.error();
  if (comm.rank() == 0) mine = commit_checkpoint(root, step, keep);
  if (auto all = agree(comm, "committing the checkpoint", mine); !all) return all.error();
  return bytes_of(header);
}

Result<void> load_checkpoint(const CheckpointInfo& checkpoint, Groups& groups, AdamW& optimizer, Mesh& mesh) {
  const auto mine = read_state(checkpoint.folder, groups, state_of(groups, optimizer));
  optimizer.set_steps_done(checkpoint.step);
  return agree(mesh.world(), "loading the checkpoint", mine);
}

}  // namespace fx::engine
