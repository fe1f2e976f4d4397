#include "knowledge/formats/run_writer.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace fx::knowledge {

std::string transformers_optimizer(const std::string& name) {
  if (name == "adamw" || name == "adam") return "adamw_torch";
  if (name == "adamw-fused") return "adamw_torch_fused";
  if (name == "adamw-8bit") return "adamw_bnb_8bit";
  static constexpr std::array<std::string_view, 9> same = {
      "adafactor",       "adagrad", "lion-8bit", "paged-adamw-32bit", "paged-adamw-8bit",
      "paged-lion-8bit", "rmsprop", "sgd",       "galore-adamw"};
  return std::find(same.begin(), same.end(), name) != same.end() ? replace_all(name, "-", "_") : "";
}

std::string transformers_schedule(const Effective& run) {
  const std::string name = run.schedule.value_or("");
  const bool warm = run.warmup_steps.value_or(0) > 0 || run.warmup_ratio.value_or(0) > 0;
  return name == "constant" && warm ? "constant_with_warmup" : name;
}

bool is_sharded(const Effective& run) {
  return run.strategy == "fsdp1" || run.strategy == "fsdp2" || run.strategy == "hsdp";
}

}  // namespace fx::knowledge
