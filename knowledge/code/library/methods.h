// Methods of objects that no file of the request defines, by the kind of object. Internal to knowledge/code.
#pragma once

#include <span>

#include "knowledge/code/library/call.h"

namespace fx::knowledge::code {

// Each gives the value, whatever the name.
Object* call_sequence_method(Interpreter& run, const Call& call);     // sequence_methods.cpp: list, tuple, set, dict
Object* call_text_method(Interpreter& run, const Call& call);         // text_methods.cpp: text and numbers
Object* call_accelerator_method(Interpreter& run, const Call& call);  // accelerator_methods.cpp
Object* call_object_method(Interpreter& run, const Call& call);       // object_methods.cpp: anything
Object* call_mesh_method(Interpreter& run, const Call& call);
// nullptr: this is no module after all. module_methods.cpp
Object* call_module_method(Interpreter& run, const Call& call);
// nullptr: no step of training. training_methods.cpp
Object* call_training_method(Interpreter& run, const Call& call);

// Of modules, tensors and batches alike: moves, casts and modes, which give their object back. moves.cpp
std::span<const Known> methods_that_give_back();

// To call it makes an unknown thing a module: a method of nn.Module and of its wrappers that nothing else has.
bool shows_module(const Call& call);
bool is_accelerator(const Object& object);
// What .step() of it is: of an optimizer, a scheduler, or just a call.
EventKind kind_of_step(const Object& object);
// A new value of a method nobody knows better: depends on its object and on the arguments. A row's taints go first.
Object* value_of_method(Interpreter& run, const Call& call, const Known& known);
// The handler of a method that does no more than its row says; the event is about the object.
Object* of_receiver(Interpreter& run, const Call& call, const Known& known);

}  // namespace fx::knowledge::code
