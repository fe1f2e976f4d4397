// Lists, tuples, sets, dicts and texts as they are written, and what is taken out of them.
#include "knowledge/code/interpreter.h"
#include "knowledge/code/shares.h"

namespace fx::knowledge::code {
namespace {

std::string_view plain_text(Node node) {
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    if (child.is("string_content")) return child.text();
  }
  return {};
}

}  // namespace

Object* Interpreter::text(Node node) {
  Object* value = text_object(plain_text(node), true, node);
  parts_of_text(node, *value);
  return value;
}

// What is put into the text, and the other texts beside it, the last one first.
void Interpreter::parts_of_text(Node node, Object& whole) {
  std::vector<Node> others;
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    if (child.is("interpolation")) {
      Object* inner = eval(child.child("expression") ? child.child("expression") : child.first_child());
      whole.taints |= inner->taints;
      whole.constant = false;
      whole.items.push_back(inner);
    } else if (child.is("string")) {
      if (whole.name.empty()) whole.name = plain_text(child);
      others.push_back(child);
    }
  }
  for (; !others.empty(); others.pop_back()) parts_of_text(others.back(), whole);
}

Object* Interpreter::collection(Node node) {
  Object* value = make(Type::kSequence, node);
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    const bool unpacked = is_unpacked(child);
    Object* item = unpacked ? consume(eval(child), child) : eval(child);
    value->taints |= item->taints & static_cast<Taints>(~kStepCount);
    if (unpacked && main_of(item)->type == Type::kSequence) {
      value->items.insert(value->items.end(), main_of(item)->items.begin(), main_of(item)->items.end());
    } else {
      value->items.push_back(item);
    }
  }
  return value;
}

Object* Interpreter::dictionary(Node node) {
  Object* value = make(Type::kDict, node);
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    if (child.is("pair")) {
      const Object* key = main_of(eval(child.child("key")));
      Object* item = eval(child.child("value"));
      value->taints |= item->taints;
      value->members.emplace_back(key->type == Type::kText ? key->name : std::string_view(), item);
    } else {
      const Object* more = main_of(eval(child));
      value->members.insert(value->members.end(), more->members.begin(), more->members.end());
      if (more->type != Type::kDict) value->members.emplace_back("**", const_cast<Object*>(more));
    }
  }
  return value;
}

Object* Interpreter::subscript(Node node) {
  Object* object = eval(node.child("value"));
  const std::vector<Node> keys = node.children("subscript");
  Object* key = nullptr;
  for (const Node at : keys) {
    if (!at.is("slice")) {
      key = eval(at);
      continue;
    }
    // A strided or offset slice by rank: the pieces need not be equally long.
    const Type of = main_of(object)->type;
    Object* cut = make(of == Type::kSequence || of == Type::kModel ? of : Type::kUnknown, node);
    cut->taints = object->taints;
    cut->items = main_of(object)->items;
    cut->parent = object;
    cut->name = main_of(object)->name;
    cut->callee = "slice";
    std::vector<const Object*> bounds;
    for (Node piece = at.first_child(); piece; piece = piece.next_sibling()) bounds.push_back(eval(piece));
    const bool equal = bounds.size() == 2 && cuts_equal_shares(bounds[0], bounds[1]);
    // [:each] of this rank's rows: as many on every rank.
    const bool from_start = bounds.size() == 1 && at.text().starts_with(':');
    if (from_start && !bounds[0]->has(kRank | kUneven) && !(bounds[0]->constant && bounds[0]->number < 0))
      cut->taints &= static_cast<Taints>(~kUneven);
    for (const Object* bound : bounds) {
      if (bound->has(kRank)) cut->taints |= equal ? kLocal : kUneven | kLocal;
      cut->taints |= static_cast<Taints>(bound->taints & kUneven);
    }
    return cut;
  }
  return item_of(object, key, node);
}

}  // namespace fx::knowledge::code
