#include "engine/checkpoint/weights.h"

#include <ATen/ops/tensor.h>

#include <span>

#include "engine/files/hf_output.h"
#include "engine/files/publish.h"

namespace fx::engine {
namespace {

// Each parameter's own: files may hold several.
DtypeOf dtypes_of(const HfFolder& source) {
  return [&source](std::string_view parameter) {
    const TensorInfo* tensor = source.find(parameter);
    return tensor != nullptr ? tensor->dtype : FileDtype::kF32;
  };
}

Result<void> write_rows(HfOutput& out, Groups& groups) {
  auto written = for_each_weight(groups, Weights::kAll, Access::kRead,
                                 [&](const std::string& name, RowRange rows, std::span<float> values) {
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

Result<void> load_weights(const HfFolder& folder, Groups& groups, Weights which) {
  return for_each_weight(groups, which, Access::kWrite,
                         [&](const std::string& name, RowRange rows, std::span<float> values) {
                           return folder.read_rows(name, rows.begin, rows.count(), values);
                         });
}

Result<void> save_together(Mesh& mesh, const std::filesystem::path& output, const SaveStep& create,
                           const SaveStep& write) {
  Collectives& comm = mesh.world();
  const std::filesystem::path staging = output.parent_path() / ("." + output.filename().string() + ".saving");
  Result<void> mine;
  if (comm.rank() == 0) mine = create(staging);
  if (auto all = agree(comm, "creating the output folder", mine); !all) return all;
  if (mesh.replica() == 0) mine = write(staging);  // all copies are equal: the first one is written
  if (auto all = agree(comm, "writing the output", mine); !all) return all;
  if (comm.rank() == 0) mine = publish_files(staging, output);
  return agree(comm, "publishing the output", mine);
}

Result<void> save_model(const HfFolder& source, Groups& groups, Mesh& mesh, const std::filesystem::path& output) {
  const HfOutputPlan plan = plan_hf_output(source.shape(), dtypes_of(source));
  return save_together(
      mesh, output,
      [&](const std::filesystem::path& staging) { return HfOutput(plan, staging).create(source.folder()); },
      [&](const std::filesystem::path& staging) {
        HfOutput out(plan, staging);
        auto opened = out.open();
        return opened ? write_rows(out, groups) : opened;
      });
}

}  // namespace fx::engine
