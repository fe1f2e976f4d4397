// The arguments that LLaMA-Factory's v0 yaml may hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fx::knowledge {

const std::vector<std::string>& llamafactory_arguments();

struct RemovedArgument {
  std::string_view name, since;  // the transformers release that no longer has it
  std::string_view fix;
};
const std::vector<RemovedArgument>& llamafactory_removed_arguments();

// Names of other frameworks for what LLaMA-Factory calls otherwise.
struct ForeignArgument {
  std::string_view name, instead;
};
const std::vector<ForeignArgument>& llamafactory_foreign_arguments();

}  // namespace fx::knowledge
