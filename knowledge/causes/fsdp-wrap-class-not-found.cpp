#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene&, const MarkView& m) {
  if (!m("missing")) return {};
  Claim out = claim(0.95, m("missing"), 2);
  return out.show(m("name"), 2);
}

}  // namespace

CauseRule fsdp_wrap_class_not_found() {
  return {"fsdp-wrap-class-not-found",
          {{"missing",
            "could not find the transformer layer class|could not find*layer class"
            "|transformer layer class*not*found|could not find*to wrap|layer_cls*not found"
            "|no modules*match*wrap|layer class*in the model|could not find module*wrap"
            "|transformer_layer_cls*not|no module of class*wrap|wrap*class*does not exist"},
           {"name", "layer_cls_to_wrap|_no_split_modules|transformer_layer_cls|auto_wrap"}},
          evaluate};
}

}  // namespace fx::knowledge
