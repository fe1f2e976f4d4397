// Functions and classes of Python and of libraries, by kind. Internal to knowledge/code.
#pragma once

#include <span>

#include "knowledge/code/library/call.h"

namespace fx::knowledge::code {

std::span<const Known> builtin_functions();        // builtins.cpp
std::span<const Known> iteration_functions();      // iteration.cpp
std::span<const Known> environment_functions();    // environment.cpp
std::span<const Known> process_group_functions();  // process_groups.cpp
std::span<const Known> state_functions();          // state.cpp
std::span<const Known> module_functions();         // modules.cpp
std::span<const Known> training_functions();       // training.cpp

// Those known by the shape of their name; nullptr: not one of them. Tried in the order of library.cpp.
Object* path_function(Interpreter& run, const Call& call);
Object* collective(Interpreter& run, const Call& call);
Object* foreign_collective(Interpreter& run, const Call& call);
bool is_named_for_reducing(std::string_view name);  // what it gives is the same on all ranks
Object* rank_function(Interpreter& run, const Call& call);
Object* pretrained_model(Interpreter& run, const Call& call);
Object* module_class(Interpreter& run, const Call& call);
Object* training_class(Interpreter& run, const Call& call);

}  // namespace fx::knowledge::code
