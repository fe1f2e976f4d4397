#include "knowledge/formats/axolotl/axolotl.h"

namespace fx::knowledge {

AxolotlView::AxolotlView(const Input& input) : root(input.root()), block(input.root().find("fsdp_config")) {
  if (block != nullptr && (!block->is_map() || block->is_empty())) block = nullptr;
}

const Node* AxolotlView::setting(const std::string& name) const {
  if (block == nullptr) return nullptr;
  const Node* plain = block->find(name);
  return plain != nullptr ? plain : block->find("fsdp_" + name);
}

const Node* AxolotlView::version_node() const {
  const Node* outer = root.find("fsdp_version");
  return is_set(outer) ? outer : setting("version");
}

int AxolotlView::version() const {
  return integer_of(version_node()) == 2 ? 2 : 1;
}
bool AxolotlView::fsdp_on() const {
  return block != nullptr || is_set(root.find("fsdp"));
}

bool AxolotlView::bnb_8bit_optimizer() const {
  const std::string name = text_of(root.find("optimizer"));
  return name == "adamw_8bit" || name == "adamw_bnb_8bit" || name == "paged_adamw_8bit";
}

}  // namespace fx::knowledge
