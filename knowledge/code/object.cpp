#include "knowledge/code/object.h"

#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

constexpr int kMaxClimb = 64;  // cycles among parents are possible: a.child = b, b.child = a

int interest(const Object* object) {
  switch (object->type) {
    case Type::kNone:
      return 0;
    case Type::kUnknown:
      return 1;
    case Type::kBool:
    case Type::kNumber:
    case Type::kText:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

Object* Object::member(std::string_view key) const {
  for (const auto& [name_of, value] : members) {
    if (name_of == key) return value;
  }
  return nullptr;
}

const Argument* Arguments::find(std::string_view name, int position) const {
  int index = 0;
  for (const Argument& argument : list) {
    if (!name.empty() && argument.name == name) return &argument;
    if (argument.name == "*") return nullptr;
    if (argument.name.empty() && index++ == position) return &argument;
  }
  return nullptr;
}

const Object* Arguments::get(std::string_view name, int position) const {
  const Argument* found = find(name, position);
  return found == nullptr ? nullptr : found->value;
}

bool Arguments::has_unknown() const {
  for (const Argument& argument : list) {
    if (argument.name == "*" || argument.name == "**") return true;
  }
  return false;
}

const Object* likeliest_of(const Object& some) {
  const Object* object = &some;
  for (int i = 0; object != nullptr && object->type == Type::kUnion && i < kMaxClimb; ++i) {
    const Object* best = object->items.front();
    for (const Object* item : object->items) {
      if (interest(item) > interest(best)) best = item;
    }
    object = best;
  }
  return object;
}

std::vector<const Object*> alternatives(const Object* object) {
  std::vector<const Object*> out;
  std::vector<const Object*> open = {object};
  for (int i = 0; !open.empty() && i < kMaxClimb; ++i) {
    const Object* next = open.back();
    open.pop_back();
    if (next == nullptr) continue;
    if (next->type == Type::kUnion) {
      open.insert(open.end(), next->items.begin(), next->items.end());
    } else {
      out.push_back(next);
    }
  }
  return out;
}

const Object* core_of(const Object* object) {
  object = main_of(object);
  for (int i = 0; object != nullptr && object->wrapped != nullptr && i < kMaxClimb; ++i)
    object = main_of(object->wrapped);
  return object;
}

const Object* root_of(const Object* part) {
  const Object* object = core_of(part);
  for (int i = 0; object != nullptr && object->parent != nullptr && i < kMaxClimb; ++i) {
    const Object* up = core_of(object->parent);
    if (up->type != Type::kModel && up->type != Type::kParameters) break;
    object = up;
  }
  return object;
}

bool lies_in(const Object* part, const Object* whole) {
  const Object* goal = core_of(whole);
  const Object* object = core_of(part);
  for (int i = 0; object != nullptr && i < kMaxClimb; ++i) {
    if (object == goal) return true;
    object = core_of(object->parent);
  }
  return false;
}

bool same_model(const Object* a, const Object* b) {
  return a != nullptr && b != nullptr && root_of(a) == root_of(b);
}

bool is_constant_text(const Object* object, std::string_view text) {
  object = main_of(object);
  return object != nullptr && object->type == Type::kText && object->constant && object->name == text;
}

bool is_dtype(const Object* object, std::string_view short_name) {
  object = main_of(object);
  if (object == nullptr || (object->type != Type::kExternal && object->type != Type::kText)) return false;
  const std::string_view name = last_part(object->name);
  const auto same = [&](std::string_view a, std::string_view b) {
    return (short_name == a || short_name == b) && (name == a || name == b);
  };
  return name == short_name || same("bfloat16", "bf16") || same("float16", "half") || same("float16", "fp16") ||
         same("float32", "float");
}

}  // namespace fx::knowledge::code
