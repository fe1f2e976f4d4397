#include "knowledge/formats/slime/slime.h"

#include "base/text.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

Changes product(const Input& input, const Hit& hit) {
  const SlimeView view = slime_view(input);
  const auto steps = integer_of(view.flag("num_steps_per_rollout"));
  const auto rollout = integer_of(view.flag("rollout_batch_size"));
  const auto samples = integer_of(view.flag("n_samples_per_prompt"));
  if (!steps || !rollout || !samples || *steps <= 0) return {};
  return set_at(place_of(hit), std::to_string(*rollout * *samples / *steps));
}

// What the actor switches off anyway; --colocate means more than that.
Changes offload_train(const Input&, const Hit& hit) {
  return hit.key == "--offload-train" ? remove_at(place_of(hit)) : Changes{};
}

Changes colocate(const Input& input, const Hit& hit) {
  const SlimeView view = slime_view(input);
  if (view.flag("fully_async") != nullptr || view.flag("hybrid") != nullptr) return {};
  return put_near(place_of(hit), "colocate", "");
}

Changes lora_mode(const Input&, const Hit& hit) {
  return hit.key == "--lora-rank" ? put_near(place_of(hit), "fsdp-trainable-mode", "lora") : Changes{};
}

}  // namespace

Fixes slime_fixes() {
  return {
      {"slime-offload-train-disabled", offload_train},
      {"slime-dynamic-batch-needs-max-tokens", put_it("max-tokens-per-gpu", "8192")},
      {"slime-bshd-needs-megatron", set_it("thd")},
      {"slime-fsdp-model-parallel-ignored", remove_it()},
      {"slime-fsdp-optimizer", set_it("adam")},
      {"slime-fsdp-async-save", remove_it()},
      {"slime-global-batch-mismatch", product},
      {"relax-fsdp-no-token-batching", remove_it()},
      {"relax-fsdp-requires-colocate", colocate},
      {"relax-fsdp-lora-cpu-offload", remove_it()},
      {"relax-fsdp-lora-mode-mismatch", lora_mode},
      {"relax-fsdp-lora-master-dtype", put_it("fsdp-master-dtype", "fp32")},
      {"relax-fsdp-kl-unsupported", remove_it()},
  };
}

}  // namespace fx::knowledge
