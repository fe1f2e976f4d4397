#include "engine/logits.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <nlohmann/json.hpp>

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

}  // namespace

Result<void> write_logits(const std::filesystem::path& model_folder, const std::filesystem::path& tokens_file,
                          const std::filesystem::path& output) {
  auto folder = HfFolder::open(model_folder);
  if (!folder) return folder.error();
  auto ids = read_ids(tokens_file, folder->shape().vocab);
  if (!ids) return ids.error();
  const auto comm = make_single();
  const auto model = make_model(folder->shape());
  StepPolicy policy;
  policy.precision = {at::kFloat, at::kFloat};
  ShardedModel sharded(*model, policy, *comm);
  if (auto loaded = load_weights(*folder, sharded.groups()); !loaded) return loaded;
  const auto count = static_cast<std::int64_t>(ids->size());
  const Batch batch{at::tensor(*ids, at::kLong), at::tensor(*ids, at::kLong), at::arange(count, at::kLong), {0, count}};
  const at::Tensor logits = sharded.logits(batch).contiguous();
  const auto header = plan_safetensors({{"logits", FileDtype::kF32, {count, folder->shape().vocab}}});
  if (auto made = create_safetensors(output, header); !made) return made;
  auto writer = SafetensorsWriter::open(output, header);
  if (!writer) return writer.error();
  return writer->write_rows(
      "logits", 0, count,
      std::span<const float>(logits.const_data_ptr<float>(), static_cast<std::size_t>(logits.numel())));
}

}  // namespace fx::engine
