// A call of something that was not sent, and the tables that tell what such calls do. Internal to knowledge/code.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "knowledge/code/event_kind.h"
#include "knowledge/code/object.h"

namespace fx::knowledge::code {

class Interpreter;

struct Call {
  std::string_view name;    // canonical: "torch.save"; of a method alone: "step"
  std::string_view callee;  // as events show it: the name, or ".step"
  Arguments& given;
  Node node;
  Object* whole = nullptr;     // what the method is of, maybe a union
  Object* receiver = nullptr;  // the likeliest of it; nullptr: a function
  Object* first = nullptr;     // the likeliest of argument 0; nullptr: none given

  Object* argument(std::size_t index) const;  // as given, maybe a union; nullptr: not given
};

struct Known;
// Does what the call does and gives its value; nullptr: this is something else of the same name after all.
using Handler = Object* (*)(Interpreter& run, const Call& call, const Known& known);

// A name and what a call of it does: the rest is for the handler.
struct Known {
  std::string_view name;
  Handler handler;
  EventKind kind = EventKind::kCall;
  Type type = Type::kUnknown;         // of the value
  std::optional<Taints> taints = {};  // of the value, whatever went in
};

// Several lists of names as one, looked up at once. Names differ.
class CallTable {
 public:
  CallTable(std::initializer_list<std::span<const Known>> lists);
  // nullptr: not in the table, or its handler declines.
  Object* call(Interpreter& run, const Call& call) const;

 private:
  std::unordered_map<std::string_view, const Known*> rows_;
};

// A new value, made by this call: type and taints are what the row says.
Object* value_of(Interpreter& run, const Call& call, const Known& known);
// Writes the event and gives the value back.
Object* note(Interpreter& run, const Call& call, EventKind kind, const Object* subject, Object* value);
// Handlers of functions that do no more than their row says; the event is about nothing, or about argument 0.
Object* about_nothing(Interpreter& run, const Call& call, const Known& known);
Object* about_first(Interpreter& run, const Call& call, const Known& known);

}  // namespace fx::knowledge::code
