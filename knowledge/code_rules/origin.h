// Where a value comes from: its operands, arguments and receivers, however deep.
#pragma once

#include <functional>

#include "knowledge/code/object.h"

namespace fx::knowledge::code {

// True if the test holds for the value or for something it was made from. Unions are opened, elements lead to what was
// iterated over, wrappers to what they wrap. Bounded.
bool made_from(const Object* value, const std::function<bool(const Object&)>& test);

// The value, or something it was made from, is that object.
bool made_from(const Object* value, const Object* origin);

// The operands of a chain of arithmetic: `-(a * b).sum() / n` gives all of its parts. The calls of functions of the
// files are not entered.
bool contains_operator(const Object* value, std::string_view sign);

}  // namespace fx::knowledge::code
