// PYTORCH_CUDA_ALLOC_CONF and its newer name.
#include <algorithm>

#include "base/text.h"
#include "knowledge/rules/env/allocator_options.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

void syntax(const Input& input, Hits& hits) {
  for (const auto& setting : allocator_settings(input)) {
    for (const auto& option : setting.options) {
      const bool known = std::find(allocator_option_names().begin(), allocator_option_names().end(), option.key) !=
                         allocator_option_names().end();
      std::string why;
      if (option.equals) why = "'=' stands where ':' belongs.";
      if (option.missing && why.empty() && known) why = option.key + " has no value.";
      const bool boolean = is_boolean_allocator_option(option.key) && option.value != "True" && option.value != "False";
      if (why.empty() && boolean) why = option.key + " wants True or False, not " + quoted(option.value) + ".";
      if (why.empty()) continue;
      const std::string value =
          boolean ? (to_lower(option.value) == "false" || option.value == "0" ? "False" : "True") : option.value;
      hits.at(*setting.variable, why,
              quote_input(option.key, 60) + ":" + (value.empty() ? "True" : quote_input(value, 40)));
      break;
    }
  }
}

void unknown_key(const Input& input, Hits& hits) {
  for (const auto& setting : allocator_settings(input)) {
    for (const auto& option : setting.options) {
      if (hits.full()) return;
      if (std::find(allocator_option_names().begin(), allocator_option_names().end(), option.key) !=
          allocator_option_names().end())
        continue;
      const auto near = nearest(option.key, allocator_option_names());
      hits.at(*setting.variable, "There is no option " + quoted(option.key) + ".", near ? "Write " + *near + "." : "");
    }
  }
}

void split_too_small(const Input& input, Hits& hits) {
  for (const auto& setting : allocator_settings(input)) {
    const AllocatorOption* option = setting.find("max_split_size_mb");
    if (option != nullptr && to_integer(option->value).value_or(1000) < 20) hits.at(*setting.variable);
  }
}

void gc_range(const Input& input, Hits& hits) {
  for (const auto& setting : allocator_settings(input)) {
    const AllocatorOption* option = setting.find("garbage_collection_threshold");
    const auto value = option == nullptr ? std::nullopt : to_number(option->value);
    if (value && (*value <= 0 || *value >= 1))
      hits.at(*setting.variable, quoted(option->value) + " is not between 0 and 1.");
  }
}

void expandable_with_split(const Input& input, Hits& hits) {
  if (input.context.known_at_least("torch", "2.5") || input.context.known_below("torch", "2.1")) return;
  for (const auto& setting : allocator_settings(input)) {
    const AllocatorOption* expandable = setting.find("expandable_segments");
    const bool other =
        setting.find("max_split_size_mb") != nullptr || setting.find("garbage_collection_threshold") != nullptr;
    if (expandable == nullptr || expandable->value != "True" || !other) continue;
    hits.at(*setting.variable, input.context.at_least("torch", "2.5")
                                   ? ""
                                   : "This holds for torch before 2.5; the version was not given.");
  }
}

void expandable_old_torch(const Input& input, Hits& hits) {
  if (!input.context.known_below("torch", "2.1")) return;
  for (const auto& setting : allocator_settings(input)) {
    if (setting.find("expandable_segments") != nullptr) hits.at(*setting.variable);
  }
}

void new_name_old_torch(const Input& input, Hits& hits) {
  if (!input.context.known_below("torch", "2.10")) return;
  for (const auto& setting : allocator_settings(input)) {
    if (setting.variable->name == "PYTORCH_ALLOC_CONF") hits.at(*setting.variable);
  }
}

}  // namespace

Rules env_allocator_rules() {
  constexpr std::uint32_t kEnv = kEnvFile | kShell;
  return {
      {"env-alloc-conf-syntax", Severity::kError, kEnv, syntax},
      {"env-alloc-conf-unknown-key", Severity::kError, kEnv, unknown_key},
      {"env-alloc-conf-split-too-small", Severity::kError, kEnv, split_too_small},
      {"env-alloc-conf-gc-range", Severity::kError, kEnv, gc_range},
      {"env-alloc-conf-expandable-with-split", Severity::kWarning, kEnv, expandable_with_split},
      {"env-alloc-conf-expandable-old-torch", Severity::kError, kEnv, expandable_old_torch},
      {"env-alloc-conf-new-name-old-torch", Severity::kWarning, kEnv, new_name_old_torch},
  };
}

}  // namespace fx::knowledge
