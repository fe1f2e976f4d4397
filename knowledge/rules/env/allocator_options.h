// The options in PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/formats/input.h"

namespace fx::knowledge {

struct AllocatorOption {
  std::string key, value;
  bool equals = false;  // written with = instead of :
  bool missing = false;
};
struct AllocatorSetting {
  const Assignment* variable = nullptr;
  std::vector<AllocatorOption> options;

  const AllocatorOption* find(std::string_view key) const;
};

std::vector<AllocatorSetting> allocator_settings(const Input& input);
const std::vector<std::string>& allocator_option_names();
bool is_boolean_allocator_option(std::string_view key);

}  // namespace fx::knowledge
