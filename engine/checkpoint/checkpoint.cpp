#include "engine/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/file.h"
#include "base/text.h"
#include "engine/files/publish.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;
constexpr const char* kStateFile = "state.safetensors";
constexpr const char* kMarker = "COMMITTED";

std::string folder_name(long long step) {
  char name[32];
  std::snprintf(name, sizeof name, "step_%07lld", step);
  return name;
}

// What is saved of each parameter: its name's ending in the file, and where it lies in memory.
constexpr const char* kSuffixes[] = {"", ".exp_avg", ".exp_avg_sq"};

at::Tensor flat_of(ParamGroup& group, AdamState& state, std::size_t part) {
  return part == 0 ? group.master() : part == 1 ? state.exp_avg : state.exp_avg_sq;
}

SafetensorsHeader plan(Groups& groups) {
  std::vector<TensorPlan> tensors;
  for (const char* suffix : kSuffixes) {
    for (auto& group : groups) {
      for (const auto& param : (*suffix == '\0' ? group->layout() : group->grad_layout()).params) {
        tensors.push_back({param.def.name + suffix, FileDtype::kF32, param.def.shape});
      }
    }
  }
  return plan_safetensors(tensors);
}

template <class Body>
Result<void> for_each_part(Groups& groups, AdamW& optimizer, const Body& body) {
  for (std::size_t part = 0; part < std::size(kSuffixes); ++part) {
    const auto flat = [&](std::size_t g) { return flat_of(*groups[g], optimizer.states()[g], part); };
    auto done = for_each_owned(groups, part == 0 ? Owned::kAll : Owned::kTrainable, flat,
                               [&](const std::string& name, RowRange rows, std::span<float> values) {
                                 return body(name + kSuffixes[part], rows, values);
                               });
    if (!done) return done;
  }
  return {};
}

Result<void> write_state(const fs::path& file, const SafetensorsHeader& header, Groups& groups, AdamW& optimizer) {
  auto writer = SafetensorsWriter::open(file, header);
  if (!writer) return writer.error();
  auto written = for_each_part(groups, optimizer, [&](const std::string& name, RowRange rows, std::span<float> values) {
    return writer->write_rows(name, rows.begin, rows.count(), std::span<const float>(values));
  });
  return written ? writer->sync() : written;
}

std::vector<CheckpointInfo> complete_checkpoints(const fs::path& root) {
  std::vector<CheckpointInfo> found;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(root, code)) {
    const std::string name = entry.path().filename().string();
    if (name.compare(0, 5, "step_") != 0 || !fs::exists(entry.path() / kMarker, code)) continue;
    if (const auto step = to_integer(name.substr(5))) {
      found.push_back({entry.path(), *step});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return found;
}

Result<void> begin_folder(const fs::path& folder, const SafetensorsHeader& header) {
  std::error_code code;
  fs::remove_all(folder, code);
  if (auto made = make_folder(folder); !made) return made;
  return create_safetensors(folder / kStateFile, header);
}

Result<void> commit(const fs::path& root, const fs::path& folder, long long step, long long keep) {
  if (auto marked = write_file_atomic(folder / kMarker, std::to_string(step) + "\n"); !marked) return marked;
  if (auto synced = sync_folder(folder); !synced) return synced;
  if (keep <= 0) return {};
  std::error_code code;
  const auto complete = complete_checkpoints(root);
  for (std::size_t i = static_cast<std::size_t>(keep); i < complete.size(); ++i) {
    fs::remove(complete[i].folder / kMarker, code);  // first: a half-removed one must not count
    fs::remove_all(complete[i].folder, code);
  }
  return {};
}

}  // namespace

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
  const fs::path folder = root / folder_name(step);
  const SafetensorsHeader header = plan(groups);
  Result<void> mine;
  if (comm.rank() == 0) mine = begin_folder(folder, header);
  if (auto all = agree(comm, "creating the checkpoint", mine); !all) return all.error();
  if (mesh.replica() == 0) mine = write_state(folder / kStateFile, header, groups, optimizer);  // all copies are equal
  if (auto all = agree(comm, "writing the checkpoint", mine); !all) return all.error();
  if (comm.rank() == 0) mine = commit(root, folder, step, keep);
  if (auto all = agree(comm, "committing the checkpoint", mine); !all) return all.error();
  return static_cast<std::int64_t>(header.tensors.back().begin + header.tensors.back().bytes);
}

Result<void> load_checkpoint(const CheckpointInfo& checkpoint, Groups& groups, AdamW& optimizer, Mesh& mesh) {
  Collectives& comm = mesh.world();
  auto file = SafetensorsFile::open(checkpoint.folder / kStateFile);
  Result<void> mine = file ? Result<void>() : Result<void>(file.error());
  if (mine) {
    mine = for_each_part(groups, optimizer, [&](const std::string& name, RowRange rows, std::span<float> values) {
      const TensorInfo* tensor = file->header().find(name);
      if (tensor == nullptr || static_cast<std::size_t>(tensor->row_elements() * rows.count()) != values.size() ||
          tensor->rows() < rows.end) {
        return Result<void>(invalid_argument(checkpoint.folder.string(),
                                             "the checkpoint does not hold " + name + " in this model's shape",
                                             "resume with the model it was made from"));
      }
      return file->read_rows(*tensor, rows.begin, rows.count(), values);
    });
  }
  optimizer.set_steps_done(checkpoint.step);
  return agree(comm, "loading the checkpoint", mine);
}

}  // namespace fx::engine
