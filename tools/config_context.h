// What a caller may know about a run beside its configuration: one argument of every tool that reads configurations.
#pragma once

#include <string>

#include "knowledge/formats/context.h"
#include "spec/fields.h"

namespace fx::tools {

struct ConfigContext {
  long long gpus = 0, nodes = 0;  // 0: not known
  double gpu_memory_gib = 0;
  std::string gpu;
  RawJson model, versions;
};

const Fields<ConfigContext>& config_context_fields();
knowledge::Context to_context(const ConfigContext& in);

}  // namespace fx::tools
