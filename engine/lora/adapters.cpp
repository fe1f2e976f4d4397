#include "engine/lora/adapters.h"

#include <cmath>
#include <optional>
#include <string_view>

#include "engine/files/peft_folder.h"
#include "engine/kernels/place_hash.h"

namespace fx::engine {
namespace {

// values: elements from `first` on of the whole tensor.
void fill_random(std::string_view name, std::uint64_t seed, std::uint64_t first, double bound,
                 std::span<float> values) {
  const std::uint64_t stream = mixed(seed ^ hashed(name));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double unit = static_cast<double>(mixed(stream + first + i) >> 11) * 0x1p-53;
    values[i] = static_cast<float>((2 * unit - 1) * bound);
  }
}

}  // namespace

Result<void> load_adapters(const ModelShape& shape, const LoraSpec& lora, std::uint64_t seed, Groups& groups) {
  std::optional<PeftFolder> given;
  if (!lora.adapter.empty()) {
    auto folder = PeftFolder::open(lora.adapter, lora, adapters_of(shape, lora));
    if (!folder) return folder.error();
    given = std::move(*folder);
  }
  return for_each_weight(groups, Weights::kTrained, Access::kWrite,
                         [&](const std::string& name, RowRange rows, std::span<float> values) -> Result<void> {
                           if (given) return given->read_rows(name, rows.begin, rows.count(), values);
                           if (name.ends_with("lora_B.weight")) return {};
                           const auto width =
                               static_cast<std::uint64_t>(values.size()) / static_cast<std::uint64_t>(rows.count());
                           fill_random(name, seed, static_cast<std::uint64_t>(rows.begin) * width,
                                       1 / std::sqrt(static_cast<double>(width)), values);
                           return {};
                         });
}

Result<void> save_adapters(const HfFolder& base, const LoraSpec& lora, Groups& groups, Mesh& mesh,
                           const std::filesystem::path& output) {
  const SafetensorsHeader header = plan_adapter_file(adapters_of(base.shape(), lora));
  return save_together(
      mesh, output,
      [&](const std::filesystem::path& staging) { return create_peft_folder(staging, header, lora, base.folder()); },
      [&](const std::filesystem::path& staging) -> Result<void> {
        auto writer = SafetensorsWriter::open(staging / kAdapterWeights, header);
        if (!writer) return writer.error();
        auto written =
            for_each_weight(groups, Weights::kTrained, Access::kRead,
                            [&](const std::string& name, RowRange rows, std::span<float> values) {
                              return writer->write_rows(name, rows.begin, rows.count(), std::span<const float>(values));
                            });
        return written ? writer->sync() : written;
      });
}

}  // namespace fx::engine
