#include <algorithm>
#include <functional>

#include "base/text.h"
#include "knowledge/rules/env/allocator_options.h"
#include "knowledge/rules/fixes.h"

namespace fx::knowledge {
namespace {

Changes torch_name(const Input& input, const Hit& hit) {
  const std::string name = "TORCH_" + hit.key;
  return input.script.variable(name) == nullptr ? rename_at(place_of(hit), name) : Changes{};
}

const Assignment* assignment_at(const Input& input, const Hit& hit) {
  for (const Assignment& one : input.script.assignments) {
    if (one.name == hit.key && one.line == hit.line && one.column == hit.column) return &one;
  }
  return nullptr;
}

Changes number_for_bool(const Input& input, const Hit& hit) {
  const Assignment* assignment = assignment_at(input, hit);
  const std::string value = assignment == nullptr ? "" : to_lower(assignment->value.text);
  if (value == "true" || value == "on" || value == "yes") return set_at(place_of(hit), "1");
  return value == "false" || value == "off" || value == "no" ? set_at(place_of(hit), "0") : Changes{};
}

// Edits one option list; false: this option cannot be said otherwise.
using Rewrite = std::function<bool(std::vector<AllocatorOption>&)>;

Fixer rewrite(Rewrite change) {
  return [change = std::move(change)](const Input& input, const Hit& hit) -> Changes {
    const Assignment* assignment = assignment_at(input, hit);
    for (AllocatorSetting& setting : allocator_settings(input)) {
      if (setting.variable != assignment) continue;
      if (!change(setting.options)) return {};
      std::string value;
      for (const auto& option : setting.options) value += (value.empty() ? "" : ",") + option.key + ":" + option.value;
      return value.empty() ? Changes{} : set_at(place_of(hit), value);
    }
    return {};
  };
}

bool well_formed(std::vector<AllocatorOption>& options) {
  for (auto& option : options) {
    if (is_boolean_allocator_option(option.key)) {
      const std::string low = to_lower(option.value);
      option.value = low == "false" || low == "0" ? "False" : "True";
    } else if (option.missing) {
      return false;
    }
  }
  return true;
}

bool known_names(std::vector<AllocatorOption>& options) {
  for (auto& option : options) {
    if (option.missing) return false;
    const auto& names = allocator_option_names();
    if (std::find(names.begin(), names.end(), option.key) != names.end()) continue;
    const auto near = nearest(option.key, names);
    if (!near) return false;
    option.key = *near;
  }
  return true;
}

Rewrite set_option(std::string key, std::string value) {
  return [key = std::move(key), value = std::move(value)](std::vector<AllocatorOption>& options) {
    for (auto& option : options) {
      if (option.key == key) option.value = value;
    }
    return true;
  };
}

bool expandable_alone(std::vector<AllocatorOption>& options) {
  std::erase_if(options, [](const AllocatorOption& option) {
    return option.key == "max_split_size_mb" || option.key == "garbage_collection_threshold";
  });
  return true;
}

}  // namespace

Fixes env_fixes() {
  return {
      {"env-nccl-var-renamed", torch_name},
      {"env-torch-nccl-invalid-value", number_for_bool},
      {"env-torch-nccl-dump-needs-buffer", put_it("TORCH_FR_BUFFER_SIZE", "2000")},
      {"env-torch-nccl-obsolete", remove_it()},
      {"env-nccl-debug-left-on", set_it("WARN")},
      {"env-master-port-invalid", set_it("29500")},
      {"env-cuda-launch-blocking", set_it("0")},
      {"env-cuda-device-max-connections", remove_it()},
      {"env-alloc-conf-syntax", rewrite(well_formed)},
      {"env-alloc-conf-unknown-key", rewrite(known_names)},
      {"env-alloc-conf-split-too-small", rewrite(set_option("max_split_size_mb", "128"))},
      {"env-alloc-conf-gc-range", rewrite(set_option("garbage_collection_threshold", "0.8"))},
      {"env-alloc-conf-expandable-with-split", rewrite(expandable_alone)},
      {"env-alloc-conf-new-name-old-torch", rename_it("PYTORCH_CUDA_ALLOC_CONF")},
  };
}

}  // namespace fx::knowledge
