#include "engine/checkpoint/weights.h"

#include <ATen/ops/tensor.h>

#include <span>

#include "engine/files/hf_output.h"
#include "engine/files/publish.h"

namespace fx::engine {
namespace {

FileDtype dtype_of_source(const HfFolder& source) {
  const TensorInfo* embedding = source.find("model.embed_tokens.weight");
  return embedding != nullptr ? embedding->dtype : FileDtype::kF32;
}

Result<void> write_rows(HfOutput& out, Groups& groups) {
  const auto master = [&](std::size_t g) { return groups[g]->master(); };
  auto written =
      for_each_owned(groups, Owned::kAll, master, [&](const std::string& name, RowRange rows, std::span<float> values) {
        return out.write_rows(name, rows.begin, rows.count(), values);
      });
  return written ? out.sync() : written;
}

}  // namespace

Result<void> agree(Collectives& comm, const std::string& what, const Result<void>& mine) {
  const double failed = mine ? -1 : comm.rank();
  at::Tensor worst = at::tensor({failed}, at::kDouble);
  comm.all_reduce_max(what, worst);
  if (!mine) return mine;
  const int other = static_cast<int>(worst.item<double>());
  if (other < 0) return {};
  return unavailable(what + " failed on rank " + std::to_string(other), "see that rank's log");
}

Result<void> load_weights(const HfFolder& folder, Groups& groups) {
  const auto master = [&](std::size_t g) { return groups[g]->master(); };
  return for_each_owned(groups, Owned::kAll, master,
                        [&](const std::string& name, RowRange rows, std::span<float> values) {
                          return folder.read_rows(name, rows.begin, rows.count(), values);
                        });
}

Result<void> save_model(const HfFolder& source, Groups& groups, Mesh& mesh, const std::filesystem::path& output,
                        bool merge) {
  Collectives& comm = mesh.world();
  const std::filesystem::path staging = output.parent_path() / ("." + output.filename().string() + ".saving");
  HfOutput out(plan_hf_output(source.shape(), dtype_of_source(source)), staging);
  Result<void> mine;
  if (comm.rank() == 0) mine = out.create(source.folder());
  if (auto all = agree(comm, "creating the output folder", mine); !all) return all;
  if (mesh.replica() == 0) mine = out.open();  // all copies are equal: the first one is written
  if (mesh.replica() == 0 && mine) mine = write_rows(out, groups);
  if (auto all = agree(comm, "writing the model", mine); !all) return all;
  if (comm.rank() == 0) mine = merge ? publish_files(staging, output) : publish_folder(staging, output);
  return agree(comm, "publishing the model", mine);
}

}  // namespace fx::engine
