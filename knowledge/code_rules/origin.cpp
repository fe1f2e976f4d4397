#include "knowledge/code_rules/origin.h"

#include <unordered_set>
#include <vector>

namespace fx::knowledge::code {
namespace {

constexpr std::size_t kMaxVisits = 400;

}  // namespace

bool made_from(const Object* value, const std::function<bool(const Object&)>& test) {
  std::vector<const Object*> open = {value};
  std::unordered_set<const Object*> seen;
  while (!open.empty() && seen.size() < kMaxVisits) {
    const Object* object = open.back();
    open.pop_back();
    if (object == nullptr || !seen.insert(object).second) continue;
    if (test(*object)) return true;
    if (object->type != Type::kUnion) open.push_back(object->receiver);  // of a union: what decides it
    open.push_back(object->wrapped);
    if (object->type != Type::kModel) open.push_back(object->parent);
    open.insert(open.end(), object->items.begin(), object->items.end());
    if (object->type == Type::kDict || object->type == Type::kStateDict) {
      for (const auto& [key, member] : object->members) open.push_back(member);
    }
    if (object->made_by == nullptr) continue;
    for (const Argument& argument : object->made_by->list) open.push_back(argument.value);
  }
  return false;
}

bool made_from(const Object* value, const Object* origin) {
  return origin != nullptr && made_from(value, [&](const Object& object) { return &object == origin; });
}

bool contains_operator(const Object* value, std::string_view sign) {
  return made_from(value, [&](const Object& object) { return object.callee == sign; });
}

}  // namespace fx::knowledge::code
