// Relax with the FSDP backend.
#include "knowledge/formats/slime/slime.h"

#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

struct Relax : SlimeView {
  explicit Relax(const Input& input) : SlimeView(slime_view(input)) {}
  bool on() const { return relax && fsdp(); }
  bool lora() const { return text_of(flag("fsdp_trainable_mode")) == "lora"; }
};

void no_token_batching(const Input& input, Hits& hits) {
  const Relax view(input);
  if (!view.on()) return;
  for (const char* name : {"use_dynamic_batch_size", "max_tokens_per_gpu"}) {
    if (const Node* flag = view.flag(name)) hits.at(*flag);
  }
}

void requires_colocate(const Input& input, Hits& hits) {
  const Relax view(input);
  if (!view.on()) return;
  for (const char* name : {"fully_async", "hybrid"}) {
    if (view.flag(name) != nullptr) {
      hits.at(*view.flag("train_backend"), view.flag(name)->shown + " is given.");
      return;
    }
  }
  if (view.complete && view.flag("colocate") == nullptr) hits.at(*view.flag("train_backend"), "--colocate is missing.");
}

void lora_offload(const Input& input, Hits& hits) {
  const Relax view(input);
  if (view.on() && view.lora() && view.flag("fsdp_cpu_offload") != nullptr) hits.at(*view.flag("fsdp_cpu_offload"));
}

void lora_mode(const Input& input, Hits& hits) {
  const Relax view(input);
  if (!view.on()) return;
  const Node* rank = view.flag("lora_rank");
  const bool ranked = integer_of(rank).value_or(0) > 0;
  if (ranked && !view.lora()) hits.at(*rank, "--fsdp-trainable-mode is not lora.", "--fsdp-trainable-mode lora");
  if (view.lora() && !ranked && view.complete && (rank == nullptr || integer_of(rank))) {
    hits.at(*view.flag("fsdp_trainable_mode"), "There is no --lora-rank above 0.", "--lora-rank 32");
  }
}

void lora_master(const Input& input, Hits& hits) {
  const Relax view(input);
  if (view.on() && view.lora() && text_of(view.flag("fsdp_master_dtype")) != "fp32")
    hits.at(*view.flag("fsdp_trainable_mode"));
}

void kl(const Input& input, Hits& hits) {
  const Relax view(input);
  if (!view.on()) return;
  if (const Node* flag = view.flag("use_kl_loss"); flag != nullptr && !is_false(flag)) hits.at(*flag);
  if (const Node* flag = view.flag("kl_coef"); number_of(flag).value_or(0) != 0) hits.at(*flag);
}

}  // namespace

Rules relax_rules() {
  return {
      {"relax-fsdp-no-token-batching", Severity::kError, kSlimeCli, no_token_batching},
      {"relax-fsdp-requires-colocate", Severity::kError, kSlimeCli, requires_colocate},
      {"relax-fsdp-lora-cpu-offload", Severity::kError, kSlimeCli, lora_offload},
      {"relax-fsdp-lora-mode-mismatch", Severity::kError, kSlimeCli, lora_mode},
      {"relax-fsdp-lora-master-dtype", Severity::kWarning, kSlimeCli, lora_master},
      {"relax-fsdp-kl-unsupported", Severity::kError, kSlimeCli, kl},
  };
}

}  // namespace fx::knowledge
