#include "knowledge/code/taints.h"

#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

void take_away(Object& object) {
  object.taints = static_cast<Taints>((object.taints & ~(kRank | kLocal | kUneven)) | kReduced);
}

// x.data, x.view(-1): what is written there is in x. nullptr: no view.
Object* seen_through(const Object& view) {
  if (view.name == "data" && view.parent != nullptr) return main_of(view.parent);
  const bool same = view.callee == ".view" || view.callee == ".detach" || view.callee == ".view_as";
  return same && view.receiver != nullptr ? main_of(view.receiver) : nullptr;
}

}  // namespace

Taints taints_of(const Arguments& given) {
  Taints taints = 0;
  for (const Argument& argument : given.list) {
    const bool place = argument.name == "device";
    taints |= static_cast<Taints>(argument.value->taints & (place ? ~kRank : ~0));
  }
  return static_cast<Taints>(taints & ~(kStepCount | kEndless));
}

// From rank and world size it makes this rank's share of data; with the rank alone it may do anything, and the value
// tells nothing.
Taints opaque_taints(std::string_view name, Taints given) {
  const auto taints = static_cast<Taints>(given & (kLocal | kWorld | kUneven | kReduced));
  if ((given & kRank) == 0) return taints;
  const bool share = (given & kWorld) != 0 || mentions(last_part(name), {"load", "batch", "data", "stream", "source",
                                                                         "iter", "sampl", "reader"});
  return share ? static_cast<Taints>(taints | kLocal) : taints;
}

void reduce(Object* value) {
  for (const Object* some : alternatives(value)) {
    auto* object = const_cast<Object*>(some);
    if (Object* whole = seen_through(*object)) take_away(*whole);
    take_away(*object);
    for (Object* item : object->items) take_away(*item);
    for (auto& [name, item] : object->members) take_away(*item);
  }
  take_away(*value);
}

}  // namespace fx::knowledge::code
