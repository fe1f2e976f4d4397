#include "knowledge/code/interpreter.h"
#include "knowledge/code/models.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {

void Interpreter::assign(Node target, Object* value, Node statement) {
  const std::string_view kind = target.kind();
  if (kind == "identifier") {
    const std::string_view name = target.text();
    Object* main = main_of(value);
    if (main->name.empty() && main->type == Type::kUnknown) main->name = name;
    if (main->type == Type::kUnknown && mentions(name, {"loss"})) main->taints |= kLocal;
    // global and nonlocal are rare enough to be read as local.
    scope_->set(name, value);
    return;
  }
  if (kind == "attribute") {
    return set_attribute(eval(target.child("object")), target.child("attribute").text(), value, statement);
  }
  if (kind == "subscript") {
    Object* object = eval(target.child("value"));
    const Node key = target.child("subscript");
    return set_item(object, key.is("slice") ? unknown(key) : eval(key), value, statement);
  }
  if (kind == "as_pattern_target" || kind == "parenthesized_expression")
    return assign(target.first_child(), value, statement);
  if (kind == "pattern_list" || kind == "tuple_pattern" || kind == "list_pattern" || kind == "tuple" ||
      kind == "list") {
    const std::vector<Node> targets = target.children();
    if (main_of(value)->type == Type::kGenerator) value = consume(value, statement);
    Object* from = main_of(value);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      Object* item = nullptr;
      if (from->type == Type::kSequence && !from->element && i < from->items.size() &&
          from->items.size() >= targets.size()) {
        item = from->items[i];
      } else {
        Object* key = number(static_cast<double>(i), target);
        item = item_of(value, key, targets[i]);
      }
      assign(targets[i], item, statement);
    }
    return;
  }
  if (kind == "list_splat_pattern") assign(target.first_child(), unknown(target, value->taints), statement);
}

void Interpreter::set_attribute(Object* object, std::string_view name, Object* value, Node node) {
  Object* owner = main_of(object);
  Object* what = main_of(value);
  Arguments& given = arguments_of();
  given.list = {{"", value, node.child("right")}};
  if (owner->type != Type::kInstance)
    emit(name == "require_backward_grad_sync" ? EventKind::kGradSync : EventKind::kSetAttribute, name, node, &given,
         owner, owner, value);
  const bool module_like = what->type == Type::kModel || what->type == Type::kUnknown || what->type == Type::kSequence;
  if (owner->type == Type::kModel && module_like && what->parent == nullptr && what != owner) {
    place(what, owner);
    if (what->name.empty() || what->type == Type::kModel) what->name = name;
  }
  if (what->name.empty() && what->type == Type::kUnknown) what->name = name;
  Object* stored = value;
  Event probe;
  probe.guard = guard_;
  Object* previous = owner->member(name);
  if (rank_guard(probe) != nullptr) {
    stored = join(value, previous == nullptr ? none_ : previous, kRank);
  } else if (local_guard(probe) != nullptr && previous != nullptr && owner->type == Type::kInstance &&
             (local_guard(probe)->taints & kReduced) == 0) {
    stored = join(value, previous, kLocal);  // a count or a best value that own data decides
  } else if (guard_ != nullptr && previous != nullptr && previous->type != Type::kNone && what->type == Type::kNone) {
    stored = join(previous, value, 0);
  }
  for (auto& [key, held] : owner->members) {
    if (key == name) {
      held = stored;
      return;
    }
  }
  owner->members.emplace_back(name, stored);
}

void Interpreter::set_item(Object* object, Object* key, Object* value, Node node) {
  Object* owner = main_of(object);
  const Object* name = main_of(key);
  Arguments& given = arguments_of();
  given.list = {{"", key, node.child("left")}, {"", value, node.child("right")}};
  emit(EventKind::kSetItem, owner->type == Type::kExternal ? owner->name : std::string_view(), node, &given, owner,
       owner, value);
  owner->taints |= static_cast<Taints>(value->taints & (kRank | kLocal | kUneven));
  Event probe;
  probe.guard = guard_;
  if (rank_guard(probe) != nullptr) owner->taints |= kRank;
  if (owner->type == Type::kDict || owner->type == Type::kUnknown || owner->type == Type::kStateDict) {
    const std::string_view text = name->type == Type::kText ? name->name : std::string_view();
    for (auto& [key_of, held] : owner->members) {
      if (key_of == text && !text.empty()) {
        held = value;
        return;
      }
    }
    if (owner->members.size() < 64) owner->members.emplace_back(text, value);
  } else if (owner->type == Type::kSequence && owner->items.size() < 64) {
    if (name->constant && name->number >= 0 && name->number < static_cast<double>(owner->items.size())) {
      owner->items[static_cast<std::size_t>(name->number)] = value;
    } else {
      owner->items.push_back(value);
    }
  }
}

}  // namespace fx::knowledge::code
