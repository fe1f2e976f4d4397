// What calls of things from outside do: Python's and libraries' functions, and methods of objects that no file defines.
// Internal to knowledge/code.
#pragma once

#include "knowledge/code/interpreter.h"

namespace fx::knowledge::code {

// name: canonical. Any name has some effect, in the end that of something nobody knows.
Object* call_library(Interpreter& run, std::string_view name, Arguments& given, Node node);
// receiver: as it was named, maybe a union.
Object* call_foreign_method(Interpreter& run, Object* receiver, std::string_view name, Arguments& given, Node node);

}  // namespace fx::knowledge::code
