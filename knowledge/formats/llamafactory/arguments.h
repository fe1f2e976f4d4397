// The arguments a LLaMA-Factory v0 yaml may have: TrainingArguments of transformers and the project's own.
#pragma once

#include <string>
#include <vector>

namespace fx::knowledge {

const std::vector<std::string>& llamafactory_arguments();

}  // namespace fx::knowledge
