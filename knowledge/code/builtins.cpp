#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

constexpr std::array<std::string_view, 12> kSameValue = {"list",
                                                         "tuple",
                                                         "iter",
                                                         "sorted",
                                                         "set",
                                                         "copy.copy",
                                                         "frozenset",
                                                         "tqdm.tqdm",
                                                         "tqdm.auto.tqdm",
                                                         "tqdm.std.tqdm",
                                                         "tqdm.notebook.tqdm",
                                                         "tqdm.asyncio.tqdm"};
constexpr std::array<std::string_view, 18> kExact = {"int",     "str",    "bool",   "float", "min",        "max",
                                                     "abs",     "round",  "sum",    "any",   "all",        "repr",
                                                     "hasattr", "divmod", "format", "hash",  "isinstance", "type"};

struct Variable {
  std::string_view name;
  Identity identity;
};
constexpr std::array kRankVariables = {
    Variable{"RANK", Identity::kGlobalRank},
    Variable{"SLURM_PROCID", Identity::kGlobalRank},
    Variable{"OMPI_COMM_WORLD_RANK", Identity::kGlobalRank},
    Variable{"PMI_RANK", Identity::kGlobalRank},
    Variable{"LOCAL_RANK", Identity::kLocalRank},
    Variable{"SLURM_LOCALID", Identity::kLocalRank},
    Variable{"OMPI_COMM_WORLD_LOCAL_RANK", Identity::kLocalRank},
};
constexpr std::array kWorldVariables = {std::string_view("WORLD_SIZE"), std::string_view("SLURM_NTASKS"),
                                        std::string_view("LOCAL_WORLD_SIZE"), std::string_view("SLURM_NPROCS"),
                                        std::string_view("OMPI_COMM_WORLD_SIZE")};

}  // namespace

Object* Interpreter::builtin_call(std::string_view name, Arguments& given, Node node) {
  Object* whole = given.list.empty() ? nullptr : given.list.front().value;
  Object* first = main_of(whole);
  const auto noted = [&](Object* result) {
    result->callee = result->callee.empty() ? name : result->callee;
    if (result->made_by == nullptr) result->made_by = &given;
    emit(EventKind::kCall, name, node, &given, first, nullptr, result);
    return result;
  };
  if (name == "os.getenv" || name == "os.environ.get" || name == "os.environ.pop") {
    Object* value = make(Type::kText, node);
    const std::string_view key = first != nullptr && first->type == Type::kText ? first->name : std::string_view();
    for (const Variable& variable : kRankVariables) {
      if (variable.name != key) continue;
      value->taints = kRank;
      value->identity = variable.identity;
    }
    if (std::ranges::find(kWorldVariables, key) != kWorldVariables.end()) {
      value->taints = kWorld;
      if (key != "LOCAL_WORLD_SIZE") value->identity = Identity::kWorldSize;
    }
    value->callee = "os.getenv";
    value->made_by = &given;
    emit(EventKind::kCall, "os.getenv", node, &given, nullptr, nullptr, value);
    return value;
  }
  if (name == "super") {
    Object* value = external("super", node);
    value->callee = "super";
    return value;
  }
  if (name == "range") {
    Object* value = unknown(node, static_cast<Taints>(taints_of(given) & (kUneven | kRank | kLocal)));
    return noted(value);
  }
  if (name == "len") {
    Object* value = make(Type::kNumber, node);
    if (whole == nullptr) return noted(value);
    // The length of a batch is this rank's own; that of a loader is what its sampler makes it.
    const Object* at = first;
    for (int i = 0; i < 6 && at != nullptr && !at->element; ++i) at = at->parent != nullptr ? at->parent : at->receiver;
    const bool picked =
        first->callee.starts_with("torch.") || first->callee == ".nonzero" || first->callee == ".unique";
    const Taints kept =
        picked || (at != nullptr && at->element) ? kUneven | kRank | kReduced | kLocal : kUneven | kRank | kReduced;
    value->taints = static_cast<Taints>(whole->taints & kept);
    return noted(value);
  }
  if (name == "enumerate" || name == "zip") {
    Object* value = make(Type::kSequence, node);
    value->callee = name;
    if (name == "enumerate") {
      Object* index = unknown(node);
      index->callee = "range";
      value->items.push_back(index);
    }
    bool some_endless = false, all_endless = true;
    for (const Argument& argument : given.list) {
      if (name == "enumerate" && argument.value != whole) continue;
      value->items.push_back(argument.value);
      value->taints |= static_cast<Taints>(argument.value->taints & (kUneven | kRank | kLocal));
      some_endless |= argument.value->has(kEndless);
      all_endless &= argument.value->has(kEndless);
    }
    if (some_endless && all_endless) value->taints |= kEndless;
    value->element = true;  // not to be unrolled
    return noted(value);
  }
  if (name == "reversed" && first != nullptr) {
    Object* value = make(first->type, node);
    *value = *first;
    value->node = node;
    value->reversed = !first->reversed;
    value->members.clear();
    std::ranges::reverse(value->items);
    return noted(value);
  }
  if (std::ranges::find(kSameValue, name) != kSameValue.end()) {
    emit(EventKind::kCall, name, node, &given, first, nullptr, whole);
    if (whole != nullptr) return whole;
    return make(Type::kSequence, node);
  }
  if (name == "dict") {
    Object* value = make(Type::kDict, node);
    for (const Argument& argument : given.list) {
      if (!argument.name.empty())
        value->members.emplace_back(argument.name, argument.value);
      else
        value->members = main_of(argument.value)->members;
      value->taints |= argument.value->taints;
    }
    return noted(value);
  }
  if (name == "filter" && given.list.size() > 1) {
    emit(EventKind::kCall, name, node, &given, first, nullptr, given.list[1].value);
    return given.list[1].value;
  }
  if (name == "map" && given.list.size() > 1) {
    Object* value = make(Type::kSequence, node);
    Arguments& one = program_.arguments_.emplace_back();
    one.list.push_back({"", element_of(given.list[1].value, node), node});
    value->items.push_back(call_object(whole, one, node));
    value->element = true;
    value->taints = given.list[1].value->taints;
    return noted(value);
  }
  if (name == "next" && first != nullptr) {
    if (first->type == Type::kGenerator) {
      if (Object* held = first->member("*")) return held;
      Object* got = nullptr;
      Loop loop;
      loop.node = node;
      iterate_generator(loop, first, [&](Object* item) {
        got = item;
        return Flow::kNormal;
      });
      if (got == nullptr) got = unknown(node);
      if (first->has(kLocal | kRank)) got = join(got, nullptr, kLocal);
      first->members.emplace_back("*", got);
      return noted(got);
    }
    return noted(element_of(whole, node));
  }
  if (name == "setattr" && given.list.size() > 2) {
    const Object* key = main_of(given.list[1].value);
    set_attribute(whole, key->constant ? key->name : std::string_view("*"), given.list[2].value, node);
    return noted(none_);
  }
  if (name == "getattr" && given.list.size() > 1) {
    const Object* key = main_of(given.list[1].value);
    emit(EventKind::kCall, name, node, &given, first, nullptr, nullptr);
    if (key->type == Type::kText && key->constant && first != nullptr) return attribute(whole, key->name, node);
    return unknown(node);
  }
  if (name == "functools.partial" && first != nullptr) {
    Object* value = make(Type::kPartial, node);
    value->receiver = first;
    value->name = first->name;
    return noted(value);
  }
  if (name == "itertools.islice" && whole != nullptr) {
    Object* value = make(first->type, node);
    *value = *first;
    value->node = node;
    if (first->has(kEndless)) value->taints = static_cast<Taints>(value->taints & ~(kUneven | kEndless));
    emit(EventKind::kCall, name, node, &given, first, nullptr, value);
    return value;
  }
  if (name == "itertools.cycle" && whole != nullptr) {
    Object* value = make(first->type, node);
    *value = *first;
    value->node = node;
    value->taints = static_cast<Taints>((value->taints & ~kUneven) | kEndless);
    value->element = true;
    emit(EventKind::kCall, name, node, &given, first, nullptr, value);
    return value;
  }
  if (name == "itertools.count" || name == "itertools.repeat") {
    Object* value = unknown(node, kEndless);
    return noted(value);
  }
  if (name == "itertools.chain" || name == "itertools.chain.from_iterable") {
    Object* value = unknown(node, taints_of(given));
    return noted(value);
  }
  if (std::ranges::find(kExact, name) != kExact.end()) {
    Object* value = make(name == "int" || name == "len" || name == "float" || name == "sum" || name == "abs" ||
                                 name == "round" || name == "min" || name == "max"
                             ? Type::kNumber
                         : name == "str" || name == "repr" || name == "format" ? Type::kText
                         : name == "type"                                      ? Type::kUnknown
                                                                               : Type::kBool,
                         node);
    value->taints = taints_of(given);
    if (name == "isinstance" || name == "hasattr" || name == "type") value->taints = 0;
    if ((name == "int" || name == "str") && whole != nullptr) {
      value->identity = first->identity;
      value->name = first->name;
      value->constant = name == "str" && first->constant && first->type == Type::kText;
      if (name == "int" && first->constant && first->type == Type::kText) {
        if (const auto parsed = to_number(first->name)) {
          value->number = *parsed;
          value->constant = true;
        }
      } else if (name == "int" && first->constant) {
        value->number = first->number;
        value->constant = true;
      }
    }
    return noted(value);
  }
  if (name.starts_with("os.path.")) {
    Object* value = make(name == "os.path.join" ? Type::kText : Type::kUnknown, node);
    value->taints = taints_of(given);
    return noted(value);
  }
  return nullptr;
}

}  // namespace fx::knowledge::code
