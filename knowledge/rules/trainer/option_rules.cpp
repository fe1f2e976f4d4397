// --fsdp and the arguments beside it.
#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/trainer/trainer.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = TrainerView;
constexpr std::uint32_t kArguments = kTrainerCli | kTrainingArgsJson;

// A program of one's own may have a --fsdp too; these stand beside it only when it is the Trainer's.
bool is_surely_trainer(const V& view) {
  for (const char* name : {"output_dir", "per_device_train_batch_size", "num_train_epochs", "fsdp_config",
                           "gradient_accumulation_steps", "model_name_or_path"}) {
    if (view.argument(name) != nullptr) return true;
  }
  return false;
}

void option_unknown(const Input& input, Hits& hits) {
  const V view(input);
  const auto& known = trainer_fsdp_options();
  for (const auto& word : view.options()) {
    if (hits.full()) return;
    if (contains(word, "$") || std::find(known.begin(), known.end(), word) != known.end()) continue;
    const auto near = nearest(word, known);
    if (!near && !is_surely_trainer(view)) continue;
    hits.at(*view.fsdp(), "There is no option " + quoted(word) + ".", near ? "Write " + *near + "." : "");
  }
}

void needs_v1(const Input& input, Hits& hits) {
  const V view(input);
  if (!input.context.known_at_least("transformers", "5.10") || view.version() == 1) return;
  for (const auto& word : view.options()) {
    if (word == "hybrid_shard" || word == "hybrid_shard_zero2" || word == "no_shard") {
      hits.at(*view.fsdp(), quoted(word) + " is only for version 1.");
      return;
    }
  }
}

void string_deprecated(const Input& input, Hits& hits) {
  const V view(input);
  if (input.context.known_at_least("transformers", "5.10") && !view.options().empty()) hits.at(*view.fsdp());
}

void offload_alone(const Input& input, Hits& hits) {
  const V view(input);
  if (input.context.known_below("transformers", "5") && view.options() == std::vector<std::string>{"offload"})
    hits.at(*view.fsdp());
}

void conflicting(const Input& input, Hits& hits) {
  const V view(input);
  if (view.has_option("full_shard") && view.has_option("shard_grad_op")) hits.at(*view.fsdp());
}

void removed_argument(const Input& input, Hits& hits) {
  const V view(input);
  if (input.context.known_at_least("transformers", "5")) {
    for (const char* name : {"fsdp_min_num_params", "fsdp_transformer_layer_cls_to_wrap"}) {
      if (const Node* node = view.argument(name))
        hits.at(*node, "Gone in transformers 5.", "Move it into fsdp_config, without its fsdp_ prefix.");
    }
  }
  const Node* old = view.argument("evaluation_strategy");
  if (old != nullptr && input.context.known_at_least("transformers", "4.46"))
    hits.at(*old, "Renamed and removed.", "Write eval_strategy.");
}

void deprecated_argument(const Input& input, Hits& hits) {
  const V view(input);
  if (!input.context.known_below("transformers", "5")) return;
  for (const char* name : {"fsdp_min_num_params", "fsdp_transformer_layer_cls_to_wrap"}) {
    if (const Node* node = view.argument(name)) hits.at(*node);
  }
}

void config_without_fsdp(const Input& input, Hits& hits) {
  const V view(input);
  const Node* config = view.argument("fsdp_config");
  if (!is_set(config) || view.fsdp_on()) return;
  if (view.launch() != nullptr && view.launch()->launcher == Launcher::kAccelerate) return;
  hits.at(*config);
}

void with_deepspeed(const Input& input, Hits& hits) {
  const V view(input);
  const Node* deepspeed = view.argument("deepspeed");
  if (view.fsdp_on() && is_set(deepspeed) && !is_false(deepspeed)) hits.at(*view.fsdp());
}

void not_distributed(const Input& input, Hits& hits) {
  const V view(input);
  if (!view.fsdp_on() || view.launch() == nullptr) return;
  if (view.launch()->launcher == Launcher::kPython && !view.launch()->under_srun) hits.at(*view.fsdp());
}

void both_precisions(const Input& input, Hits& hits) {
  const V view(input);
  if (is_true(view.argument("fp16")) && is_true(view.argument("bf16"))) hits.at(*view.argument("fp16"));
}

void default_version(const Input& input, Hits& hits) {
  const V view(input);
  if (!view.fsdp_on() || view.setting("version") != nullptr || input.context.at_least("transformers", "5")) return;
  if (is_true(view.setting("xla"))) return;
  if (input.is(kFsdpConfigJson)) {
    hits.root();
  } else {
    hits.at(view.argument("fsdp_config") != nullptr ? *view.argument("fsdp_config") : *view.fsdp());
  }
}

}  // namespace

Rules trainer_option_rules() {
  return {
      {"trainer-fsdp-option-unknown", Severity::kError, kArguments, option_unknown},
      {"trainer-fsdp-option-needs-v1", Severity::kError, kArguments, needs_v1},
      {"trainer-fsdp-string-deprecated", Severity::kWarning, kArguments, string_deprecated},
      {"trainer-fsdp-offload-alone", Severity::kError, kArguments, offload_alone},
      {"trainer-fsdp-conflicting-strategies", Severity::kError, kArguments, conflicting},
      {"trainer-removed-arg", Severity::kError, kArguments, removed_argument},
      {"trainer-deprecated-fsdp-arg", Severity::kWarning, kArguments | kLlamafactoryYaml, deprecated_argument},
      {"trainer-fsdp-config-without-fsdp", Severity::kWarning, kArguments, config_without_fsdp},
      {"trainer-fsdp-with-deepspeed", Severity::kError, kArguments, with_deepspeed},
      {"trainer-fsdp-not-distributed", Severity::kError, kTrainerCli, not_distributed},
      {"trainer-fp16-bf16-both", Severity::kError, kArguments, both_precisions},
      {"trainer-fsdp-default-version", Severity::kInfo, kArguments | kFsdpConfigJson, default_version},
  };
}

}  // namespace fx::knowledge
