// Methods of texts and numbers.
#include <algorithm>
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/methods.h"
#include "knowledge/code/taints.h"

namespace fx::knowledge::code {
namespace {

// Give a text that still begins and says much the same.
constexpr std::array<std::string_view, 10> kKeepText = {"format",  "join",         "strip",        "lower",  "upper",
                                                        "replace", "removeprefix", "removesuffix", "rstrip", "lstrip"};

}  // namespace

Object* call_text_method(Interpreter& run, const Call& call) {
  Object* value = value_of(run, call, {call.name, nullptr});
  value->taints = static_cast<Taints>(call.whole->taints | taints_of(call.given));
  if (std::ranges::find(kKeepText, call.name) != kKeepText.end()) {
    value->type = Type::kText;
    value->name = call.receiver->name;
    value->identity = call.receiver->identity;
  }
  return note(run, call, EventKind::kCall, call.receiver, value);
}

}  // namespace fx::knowledge::code
