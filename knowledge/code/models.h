// Which objects are models.
#pragma once

#include <string_view>

#include "knowledge/code/object.h"

namespace fx::knowledge::code {

// Something unknown is used as a module: it is one, and so is the list it is an item of and that list's owner.
void promote(Object* object);
// A part is inside the whole from here on, and so is what its wrappers hold.
void place(Object* part, Object* whole);
// The model whose parameters a value holds: model.parameters(), a list of them, groups of them. nullptr: none seen.
const Object* model_in(const Object* value);
bool is_method_of_modules(std::string_view name);  // of every nn.Module: "eval", "parameters"

}  // namespace fx::knowledge::code
