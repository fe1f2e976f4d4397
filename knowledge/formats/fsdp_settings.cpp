#include "knowledge/formats/fsdp_settings.h"

namespace fx::knowledge {

const Node* training_argument(const Input& input, std::string_view name) {
  if (!input.root().children.empty()) return input.root().find(name);
  for (const auto& launch : input.launches) {
    if (const Node* flag = launch.arguments.find(name)) return flag;
  }
  return nullptr;
}

const Node* fsdp_block(const Input& input) {
  if (input.is(kFsdpConfigJson)) return &input.root();
  const Node* block = training_argument(input, "fsdp_config");
  return block != nullptr && block->is_map() ? block : nullptr;
}

const Node* fsdp_setting(const Input& input, const std::string& name) {
  const Node* block = fsdp_block(input);
  if (block != nullptr) {
    if (const Node* node = block->find("fsdp_" + name)) return node;
    if (const Node* node = block->find(name)) return node;
  }
  for (const auto& launch : input.launches) {
    if (launch.launcher != Launcher::kAccelerate) continue;
    if (const Node* node = launch.flags.find("fsdp_" + name)) return node;
  }
  return nullptr;
}

}  // namespace fx::knowledge
