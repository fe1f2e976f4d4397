// What is inside of a container: the item under a key, and what one turn of a loop gets.
#include <algorithm>
#include <array>

#include "knowledge/code/library/library.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

constexpr std::size_t kMaxMembers = 256, kMaxJoined = 8;
constexpr std::string_view kElement = "*";  // the member that stands for every item

Object* element_of_module(Recorder& run, Object* from, Node node) {
  if (Object* held = from->member(kElement)) return held;
  Object* value = run.make(Type::kModel, node);
  value->element = true;
  value->parent = from;
  value->reversed = from->reversed;
  value->callee = from->callee;
  if (from->callee == ".modules" || from->callee == ".children") value->parent = from->receiver;
  from->members.emplace_back(kElement, value);
  return value;
}

bool gives_names(const Object& object) {
  return object.callee == ".named_modules" || object.callee == ".named_children" ||
         object.callee == ".named_parameters" || object.callee == ".named_buffers";
}

Object* name_and_part(Recorder& run, Object* from, Node node) {
  const bool of_parameters = from->type == Type::kParameters;
  Object* tuple = run.make(Type::kSequence, node);
  Object* item = run.make(of_parameters ? Type::kUnknown : Type::kModel, node);
  item->element = true;
  item->parent = of_parameters ? from : from->receiver;
  item->reversed = from->reversed;
  item->callee = from->callee;
  item->receiver = from;
  tuple->items = {run.text_object("", false, node), item};
  return tuple;
}

// numpy.array_split(rows, world)[rank]: the first parts may be longer.
bool is_own_part(const Object& parts, const Object* place) {
  constexpr std::array<std::string_view, 5> kSplits = {"numpy.array_split", "torch.tensor_split", "torch.chunk",
                                                       ".tensor_split", ".chunk"};
  return place != nullptr && place->has(kRank) && parts.has(kWorld) &&
         std::ranges::find(kSplits, parts.callee) != kSplits.end();
}

}  // namespace

Object* Interpreter::item_of(Object* object, Object* key, Node node) {
  Object* owner = main_of(object);
  const Object* which = key == nullptr ? nullptr : main_of(key);
  if (owner->type == Type::kExternal && owner->name == "os.environ" && which != nullptr) {
    Arguments& given = arguments_of();
    given.list.push_back({"", key, node});
    return call_library(*this, "os.getenv", given, node);
  }
  if (which != nullptr && which->type == Type::kText && !which->name.empty()) {
    if (Object* found = owner->member(which->name)) return found;
  }
  if (owner->type == Type::kDict && !owner->members.empty() && (which == nullptr || !which->constant)) {
    Object* some = owner->members.front().second;
    for (std::size_t i = 1; i < owner->members.size() && i < 4; ++i) some = join(some, owner->members[i].second, 0);
    return some;
  }
  if (owner->type == Type::kSequence && which != nullptr && which->constant && !owner->element) {
    const double at = which->number < 0 ? which->number + static_cast<double>(owner->items.size()) : which->number;
    if (at >= 0 && at < static_cast<double>(owner->items.size())) return owner->items[static_cast<std::size_t>(at)];
  }
  if (owner->type == Type::kMesh) {
    Object* slice = make(Type::kMesh, node);
    slice->parent = owner;
    slice->receiver = owner;
    slice->callee = "slice";
    return slice;
  }
  if (owner->type == Type::kModel) {
    Object* found = element_of(owner, node);
    if (which != nullptr && which->constant) {
      found = make(Type::kModel, node);
      found->parent = owner;
      found->name = "item";
    }
    return found;
  }
  if (owner->type == Type::kExternal) return external(owner->name, node);  // list[int], Optional[...]
  Object* value =
      unknown(node, static_cast<Taints>((object->taints | (key == nullptr ? 0 : key->taints)) & ~kUneven & ~kEndless));
  value->parent = owner->type == Type::kStateDict || owner->type == Type::kParameters || owner->type == Type::kUnknown
                      ? owner
                      : nullptr;
  value->receiver = owner;
  value->callee = "[]";
  value->element = owner->type == Type::kParameters;
  if (is_own_part(*owner, which)) value->taints |= kUneven | kLocal;
  return value;
}

Object* Interpreter::element_of_sequence(Object* from, Node node) {
  if (from->callee == "enumerate" || from->callee == "zip") {
    Object* row = make(Type::kSequence, node);
    for (Object* item : from->items) row->items.push_back(element_of(item, node));
    return row;
  }
  if (from->callee == ".items") {  // of a dict: any key with any value
    Object* pair = make(Type::kSequence, node);
    Object* held = from->items.front()->items[1];
    for (const Object* item : from->items) held = join(held, item->items[1], 0);
    pair->items = {text_object("", false, node), held};
    return pair;
  }
  Object* value = from->items.front();
  for (std::size_t i = 1; i < from->items.size() && i < kMaxJoined; ++i) value = join(value, from->items[i], 0);
  // [f for i, f in enumerate(files) if i % world == rank]: this rank's own
  const bool own = from->callee == "comprehension" && from->has(kLocal) && from->has(kUneven);
  return own ? join(value, nullptr, kLocal) : value;
}

Object* Interpreter::element_of(Object* iterable, Node node) {
  Object* from = main_of(iterable);
  if (from->type == Type::kSequence && !from->items.empty()) return element_of_sequence(from, node);
  if (from->callee == "range") {
    Object* value = make(Type::kNumber, node);
    value->taints = static_cast<Taints>((from->taints & (kRank | kWorld | kLocal)) | kStepCount);
    return value;
  }
  if (from->type == Type::kModel) return element_of_module(*this, from, node);
  if (gives_names(*from)) return name_and_part(*this, from, node);
  const auto data = static_cast<Taints>(from->taints & (kRank | kLocal | kReduced));
  const bool is_unknown = from->type == Type::kUnknown;
  if (is_unknown && from->parent != nullptr && (data & kLocal) == 0) {
    if (Object* held = from->member(kElement)) return held;
  }
  Object* value = unknown(node, data);
  if (from->type == Type::kLoader || mentions(from->name, {"loader", "batch", "data", "stream", "source", "iterator"}))
    value->taints |= kLocal;
  value->parent = is_unknown || from->type == Type::kParameters ? from : nullptr;
  value->element = true;
  value->receiver = from;
  if (is_unknown && from->members.size() < kMaxMembers) from->members.emplace_back(kElement, value);
  return value;
}

}  // namespace fx::knowledge::code
