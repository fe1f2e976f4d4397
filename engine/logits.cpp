#include "engine/logits.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/file.h"
#include "engine/checkpoint/weights.h"
#include "engine/comm/process_group.h"
#include "engine/train/step.h"

namespace fx::engine {
namespace {

Result<std::vector<std::int64_t>> read_ids(const std::filesystem::path& file, long long vocab) {
  auto text = read_file(file);
  if (!text) return text.error();
  auto json = parse_json(*text);
  if (!json) return json.error();
  std::vector<std::int64_t> ids;
  if (json->is_array()) {
    for (const auto& id : *json) {
      if (!id.is_number_integer() || id.get<std::int64_t>() < 0 || id.get<std::int64_t>() >= vocab) {
        return invalid_argument(file.string(), "holds a value that is no token id below " + std::to_string(vocab));
      }
      ids.push_back(id.get<std::int64_t>());
    }
  }
  if (ids.empty()) return invalid_argument(file.string(), "must be a JSON list of token ids");
  return ids;
}

// A model alone in this process, in fp32, and one document of tokens.
struct Loaded {
  std::unique_ptr<Collectives> comm = make_single();
  std::unique_ptr<Model> model;
  std::unique_ptr<ShardedModel> sharded;
  long long vocab = 0;
  Batch batch;  // each token is labelled with the next one
};

Result<Loaded> load(const std::filesystem::path& model_folder, const std::filesystem::path& tokens_file) {
  auto folder = HfFolder::open(model_folder);
  if (!folder) return folder.error();
  auto ids = read_ids(tokens_file, folder->shape().vocab);
  if (!ids) return ids.error();
  Loaded out;
  out.vocab = folder->shape().vocab;
  out.model = make_model(folder->shape());
  StepPolicy policy;
  policy.precision.param_dtype = at::kFloat;
  out.sharded = std::make_unique<ShardedModel>(*out.model, policy, *out.comm);
  if (auto loaded = load_weights(*folder, out.sharded->groups()); !loaded) return loaded.error();
  const auto count = static_cast<std::int64_t>(ids->size());
  std::vector<std::int64_t> labels(ids->begin() + 1, ids->end());
  labels.push_back(-100);
  out.batch = {
      at::tensor(*ids, at::kLong), at::tensor(labels, at::kLong), at::arange(count, at::kLong), {0, count}, {}};
  return out;
}

std::span<const float> values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

Result<void> write_logits(const std::filesystem::path& model_folder, const std::filesystem::path& tokens_file,
                          const std::filesystem::path& output) {
  auto loaded = load(model_folder, tokens_file);
  if (!loaded) return loaded.error();
  const at::Tensor logits = loaded->sharded->logits(loaded->batch).contiguous();
  const std::int64_t count = logits.size(0);
  const auto header = plan_safetensors({{"logits", FileDtype::kF32, {count, loaded->vocab}}});
  if (auto made = create_safetensors(output, header); !made) return made;
  auto writer = SafetensorsWriter::open(output, header);
  if (!writer) return writer.error();
  return writer->write_rows("logits", 0, count, values_of(logits));
}

Result<void> write_gradients(const std::filesystem::path& model_folder, const std::filesystem::path& tokens_file,
                             const std::filesystem::path& output) {
  auto loaded = load(model_folder, tokens_file);
  if (!loaded) return loaded.error();
  const auto labelled = std::max<std::int64_t>(1, loaded->batch.tokens.numel() - 1);
  loaded->sharded->accumulate(loaded->batch, 1.0f / static_cast<float>(labelled));
  auto& groups = loaded->sharded->groups();
  std::vector<TensorPlan> plans;
  for (const auto& group : groups) {
    for (const auto& param : group->grad_layout().params)
      plans.push_back({param.def.name, FileDtype::kF32, param.def.shape});
  }
  const auto header = plan_safetensors(plans);
  if (auto made = create_safetensors(output, header); !made) return made;
  auto writer = SafetensorsWriter::open(output, header);
  if (!writer) return writer.error();
  const auto grad = [&](std::size_t g) { return groups[g]->grad(); };
  return for_each_owned(groups, Owned::kTrainable, grad,
                        [&](const std::string& name, RowRange rows, std::span<float> values) {
                          return writer->write_rows(name, rows.begin, rows.count(), std::span<const float>(values));
                        });
}

}  // namespace fx::engine
