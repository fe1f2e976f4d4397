#include "engine/checkpoint/weights.h"

#include <ATen/ops/tensor.h>

#include <span>

#include "engine/files/hf_output.h"
#include "engine/files/publish.h"

namespace fx::engine {
namespace {

std::span<float> floats(const at::Tensor& rows) {
  return {rows.mutable_data_ptr<float>(), static_cast<std::size_t>(rows.numel())};
}

FileDtype dtype_of_source(const HfFolder& source) {
  const TensorInfo* embedding = source.find("model.embed_tokens.weight");
  return embedding != nullptr ? embedding->dtype : FileDtype::kF32;
}

Result<void> write_rows(HfOutput& out, Groups& groups, int rank) {
  for (auto& group : groups) {
    for (std::size_t i = 0; i < group->layout().params.size(); ++i) {
      const ParamLayout& param = group->layout().params[i];
      const RowRange rows = rows_of(param.def.shape[0], rank, group->layout().size);
      if (rows.count() == 0) continue;
      const auto values = floats(group->rows_view(group->master(), i));
      if (auto wrote = out.write_rows(param.def.name, rows.begin, rows.count(), values); !wrote) return wrote;
    }
  }
  return out.sync();
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

Result<void> load_weights(const HfFolder& folder, Groups& groups, int rank) {
  for (auto& group : groups) {
    for (std::size_t i = 0; i < group->layout().params.size(); ++i) {
      const ParamLayout& param = group->layout().params[i];
      const RowRange rows = rows_of(param.def.shape[0], rank, group->layout().size);
      if (rows.count() == 0) continue;
      const auto values = floats(group->rows_view(group->master(), i));
      if (auto read = folder.read_rows(param.def.name, rows.begin, rows.count(), values); !read) return read;
    }
  }
  return {};
}

Result<void> save_model(const HfFolder& source, Groups& groups, Collectives& comm, const std::filesystem::path& output,
                        bool merge) {
  const std::filesystem::path staging = output.parent_path() / ("." + output.filename().string() + ".saving");
  HfOutput out(plan_hf_output(source.shape(), dtype_of_source(source)), staging);
  Result<void> mine;
  if (comm.rank() == 0) mine = out.create(source.folder());
  if (auto all = agree(comm, "creating the output folder", mine); !all) return all;
  mine = out.open();
  if (mine) mine = write_rows(out, groups, comm.rank());
  if (auto all = agree(comm, "writing the model", mine); !all) return all;
  if (comm.rank() == 0) mine = merge ? publish_files(staging, output) : publish_folder(staging, output);
  return agree(comm, "publishing the model", mine);
}

}  // namespace fx::engine
