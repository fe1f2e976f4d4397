#include "knowledge/code/library/library.h"

#include <array>

#include "knowledge/code/library/functions.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {
namespace {

// What these hold computes a value from its arguments and does nothing else.
constexpr std::array<std::string_view, 5> kPure = {"torch.", "numpy.", "math.", "random.", "pathlib."};

Object* (*const kByShape[])(Interpreter&, const Call&) = {
    path_function, collective, foreign_collective, pretrained_model, training_class, module_class, rank_function};

const CallTable& known_functions() {
  static const CallTable table = {builtin_functions(),       iteration_functions(), environment_functions(),
                                  process_group_functions(), state_functions(),     module_functions(),
                                  training_functions()};
  return table;
}

Taints taints_through(std::string_view name, Taints given) {
  if (name.starts_with("time.")) return kLocal;
  for (const std::string_view package : kPure) {
    if (name.starts_with(package)) return given;
  }
  return opaque_taints(name, given);
}

}  // namespace

Object* call_library(Interpreter& run, std::string_view name, Arguments& given, Node node) {
  const Call call = {
      name, name, given, node, nullptr, nullptr, given.list.empty() ? nullptr : main_of(given.list.front().value)};
  if (Object* done = known_functions().call(run, call)) return done;
  for (const auto by_shape : kByShape) {
    if (Object* done = by_shape(run, call)) return done;
  }
  Object* value = value_of(run, call, {name, nullptr});
  value->taints = taints_through(name, taints_of(given));
  return note(run, call, EventKind::kCall, call.first, value);
}

}  // namespace fx::knowledge::code
