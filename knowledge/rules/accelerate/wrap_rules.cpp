// What FSDP wraps.
#include "base/text.h"
#include "knowledge/formats/accelerate/accelerate.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

using V = AccelerateView;
constexpr std::uint32_t kBoth = kAccelerateYaml | kAccelerateLaunch;

void no_wrap_policy(const Input& input, Hits& hits) {
  const V view(input);
  const Node* policy = view.fsdp("auto_wrap_policy");
  if (!view.fsdp_on() || !is_set(view.block())) return;
  if (policy != nullptr && to_lower(text_of(policy)) == "no_wrap") {
    hits.at(*policy);
  } else if (!is_set(policy)) {
    hits.at(*view.block(), "There is no fsdp_auto_wrap_policy, which means NO_WRAP.");
  }
}

void class_list(const Input& input, Hits& hits) {
  const Node* node = V(input).fsdp("transformer_layer_cls_to_wrap");
  if (node == nullptr || !node->is_list()) return;
  hits.at(*node, "", node->name + ": " + quote_input(join(words_of(node), ","), 200));
}

void class_blank(const Input& input, Hits& hits) {
  const Node* node = V(input).fsdp("transformer_layer_cls_to_wrap");
  if (node == nullptr || !node->is_scalar() || !contains(node->text, ",")) return;
  const auto parts = split(node->text, ',');
  bool blank = false;
  for (const auto part : parts) blank = blank || part != trim(part);
  if (blank) hits.at(*node, "", "Write " + quote_input(replace_all(node->text, " ", ""), 200) + ".");
}

void class_empty(const Input& input, Hits& hits) {
  const Node* node = V(input).fsdp("transformer_layer_cls_to_wrap");
  if (node != nullptr && node->kind == Node::Kind::kString && trim(node->text).empty()) hits.at(*node);
}

}  // namespace

Rules accelerate_wrap_rules() {
  return {
      {"accelerate-no-wrap-policy", Severity::kWarning, kAccelerateYaml, no_wrap_policy},
      {"accelerate-wrap-class-list", Severity::kError, kAccelerateYaml, class_list},
      {"accelerate-wrap-class-whitespace", Severity::kError, kBoth, class_blank},
      {"accelerate-wrap-class-empty", Severity::kError, kBoth, class_empty},
  };
}

}  // namespace fx::knowledge
