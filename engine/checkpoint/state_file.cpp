#include "engine/checkpoint/state_file.h"

#include <cstdio>
#include <iterator>
#include <string>

#include "base/file.h"
#include "engine/files/publish.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;
constexpr const char* kStateFile = "state.safetensors";

// Endings of a parameter's names in the file, in the order of StateTensors.
constexpr const char* kSuffixes[] = {"", ".exp_avg", ".exp_avg_sq"};

template <class Body>
Result<void> for_each_part(Groups& groups, const StateTensors& state, const Body& body) {
  for (std::size_t part = 0; part < std::size(kSuffixes); ++part) {
    const auto flat = [&](std::size_t g) { return state[g][part]; };
    auto done = for_each_owned(groups, part == 0 ? Owned::kAll : Owned::kTrainable, flat,
                               [&](const std::string& name, RowRange rows, std::span<float> values) {
                                 return body(name + kSuffixes[part], rows, values);
                               });
    if (!done) return done;
  }
  return {};
}

}  // namespace

StateTensors state_of(Groups& groups, AdamW& optimizer) {
  StateTensors out(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!groups[g]->master().defined()) continue;
    out[g] = {groups[g]->master(), optimizer.states()[g].exp_avg, optimizer.states()[g].exp_avg_sq};
  }
  return out;
}

SafetensorsHeader plan_state(Groups& groups) {
  std::vector<TensorPlan> tensors;
  for (const char* suffix : kSuffixes) {
    for (auto& group : groups) {
      if (!group->master().defined()) continue;  // frozen: as it is in the model folder
      for (const auto& param : (*suffix == '\0' ? group->layout() : group->grad_layout()).params) {
        tensors.push_back({param.def.name + suffix, FileDtype::kF32, param.def.shape});
      }
    }
  }
  return plan_safetensors(tensors);
}

std::int64_t bytes_of(const SafetensorsHeader& header) {
  return static_cast<std::int64_t>(header.tensors.back().begin + header.tensors.back().bytes);
}

fs::path checkpoint_folder(const fs::path& root, long long step) {
  char name[32];
  std::snprintf(name, sizeof name, "step_%07lld", step);
  return root / name;
}

Result<void> begin_checkpoint(const fs::path& folder, const SafetensorsHeader& header) {
  std::error_code code;
  fs::remove(folder / kCommitMarker, code);  // first: a half-removed one must not count
  fs::remove_all(folder, code);
  if (auto made = make_folder(folder); !made) return made;
  return create_safetensors(folder / kStateFile, header);
}

Result<void> write_state(const fs::path& folder, const SafetensorsHeader& header, Groups& groups,
                         const StateTensors& state) {
  auto writer = SafetensorsWriter::open(folder / kStateFile, header);
  if (!writer) return writer.error();
  auto written = for_each_part(groups, state, [&](const std::string& name, RowRange rows, std::span<float> values) {
    return writer->write_rows(name, rows.begin, rows.count(), std::span<const float>(values));
  });
  return written ? writer->sync() : written;
}

Result<void> read_state(const fs::path& folder, Groups& groups, const StateTensors& state) {
  const auto file = SafetensorsFile::open(folder / kStateFile);
  if (!file) return file.error();
  return for_each_part(groups, state, [&](const std::string& name, RowRange rows, std::span<float> values) {
    const TensorInfo* tensor = file->header().find(name);
    if (tensor == nullptr || static_cast<std::size_t>(tensor->row_elements() * rows.count()) != values.size() ||
        tensor->rows() < rows.end) {
      return Result<void>(invalid_argument(folder.string(),
                                           "the checkpoint does not hold " + name + " in this model's shape",
                                           "resume with the model it was made from"));
    }
    return file->read_rows(*tensor, rows.begin, rows.count(), values);
  });
}

Result<void> commit_checkpoint(const fs::path& root, long long step, long long keep) {
  const fs::path folder = checkpoint_folder(root, step);
  if (auto marked = write_file_atomic(folder / kCommitMarker, std::to_string(step) + "\n"); !marked) return marked;
  if (auto synced = sync_folder(folder); !synced) return synced;
  if (keep <= 0) return {};
  std::error_code code;
  const auto complete = complete_checkpoints(root);
  for (std::size_t i = static_cast<std::size_t>(keep); i < complete.size(); ++i) {
    fs::remove(complete[i].folder / kCommitMarker, code);  // first: a half-removed one must not count
    fs::remove_all(complete[i].folder, code);
  }
  return {};
}

}  // namespace fx::engine
