#include "knowledge/code/models.h"

#include <algorithm>
#include <array>

namespace fx::knowledge::code {
namespace {

constexpr int kMaxSearch = 64;

// Methods that every module has: no parts of it, also when only looked at (hasattr(model, "eval")).
constexpr std::array<std::string_view, 18> kMethodsOfModules = {"eval",
                                                                "train",
                                                                "to",
                                                                "cuda",
                                                                "cpu",
                                                                "half",
                                                                "float",
                                                                "bfloat16",
                                                                "parameters",
                                                                "modules",
                                                                "state_dict",
                                                                "load_state_dict",
                                                                "zero_grad",
                                                                "forward",
                                                                "compile",
                                                                "generate",
                                                                "save_pretrained",
                                                                "named_parameters"};

}  // namespace

bool is_method_of_modules(std::string_view name) {
  return std::ranges::find(kMethodsOfModules, name) != kMethodsOfModules.end();
}

void promote(Object* object) {
  Object* at = main_of(object);
  if (at == nullptr || (at->type != Type::kUnknown && at->type != Type::kModel)) return;
  if (at->element && at->parent != nullptr && main_of(at->parent)->type == Type::kParameters) return;
  at->type = Type::kModel;
  // for layer in net.layers: layer.attention.requires_grad_(False)
  Object* owner = main_of(at->parent);
  if (!at->element && owner != nullptr && owner->type == Type::kUnknown && owner->element && owner->parent != nullptr)
    return promote(owner);
  if (!at->element && !(at->callee == "[]" && at->has(kStepCount))) return;
  for (int up = 0; up < 2; ++up) {
    at = main_of(at->parent);
    if (at == nullptr || at->type != Type::kUnknown) return;
    at->type = Type::kModel;
  }
}

void place(Object* part, Object* whole) {
  Object* at = main_of(part);
  at->parent = whole;
  for (int i = 0; at->wrapped != nullptr && i < kMaxSearch; ++i) {
    at = main_of(at->wrapped);
    if (at == whole || at->parent != nullptr) return;
    at->parent = whole;
  }
}

const Object* model_in(const Object* value) {
  std::vector<const Object*> open = {value};
  for (int i = 0; i < kMaxSearch && !open.empty(); ++i) {
    const Object* at = main_of(open.back());
    open.pop_back();
    if (at == nullptr) continue;
    if (at->type == Type::kParameters) return at->items.empty() ? nullptr : main_of(at->items.front());
    if (at->type == Type::kModel) return at;
    const bool of_parameter = at->name == "grad" || at->name == "data";
    if (at->parent != nullptr && (of_parameter || main_of(at->parent)->type == Type::kParameters))
      open.push_back(at->parent);
    for (Object* item : at->items) open.push_back(item);
    for (const auto& [name, item] : at->members) {
      if (at->type == Type::kDict || at->type == Type::kSequence) open.push_back(item);
    }
    // filter(test, model.parameters()), list(...), a helper from outside that was handed the model
    if (at->type == Type::kUnknown && at->made_by != nullptr) {
      for (const Argument& argument : at->made_by->list) open.push_back(argument.value);
    }
  }
  return nullptr;
}

}  // namespace fx::knowledge::code
