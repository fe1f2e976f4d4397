#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

Changes product(const Input& input, const Hit& hit) {
  const auto micro = integer_of(input.root().find("train_micro_batch_size_per_gpu"));
  const auto steps = integer_of(input.root().find("gradient_accumulation_steps"));
  const auto world = input.context.world_size();
  if (!micro || !steps || !world) return {};
  return set_at(place_of(hit), std::to_string(*micro * *steps * *world));
}

}  // namespace

Fixes deepspeed_fixes() {
  return {{"deepspeed-batch-size-inconsistent", product}};
}

}  // namespace fx::knowledge
