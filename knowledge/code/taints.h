// What a value depends on, carried through calls.
#pragma once

#include <string_view>

#include "knowledge/code/object.h"

namespace fx::knowledge::code {

// Of all arguments together; where a tensor lies says nothing about what is in it.
Taints taints_of(const Arguments& given);
// What something that was not sent makes of its arguments' taints.
Taints opaque_taints(std::string_view name, Taints given);
// After an all-reduce or a broadcast all ranks hold the same.
void reduce(Object* value);

}  // namespace fx::knowledge::code
