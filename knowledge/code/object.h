// The values of the abstract interpreter: what a name may stand for, how it was made, and what it depends on.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "knowledge/python/syntax.h"

namespace fx::knowledge::code {

using python::Node;
struct SourceFile;
struct Function;
struct Class;
struct Arguments;
class Scope;
struct Guard;
struct Object;

enum class Type : std::uint8_t {
  kUnknown,
  kNone,
  kBool,
  kNumber,
  kText,
  kSequence,    // list, tuple, set: items
  kDict,        // members by text key
  kFunction,    // of the files, or a lambda
  kClass,       // of the files
  kInstance,    // of a class of the files that is no model
  kExternal,    // a module, class or function from outside: name
  kMethod,      // receiver.name, not called yet
  kPartial,     // functools.partial: receiver is the callable, made_by the arguments
  kUnion,       // one of items, depending on the path
  kModel,       // an nn.Module: a root, a part of one, or a wrapper
  kParameters,  // of a model or several: what parameters() and relatives give
  kOptimizer,
  kScheduler,
  kScaler,
  kSampler,
  kLoader,
  kDataset,
  kTensor,
  kStateDict,
  kMesh,
  kAccelerator,
  kFuture,
  kGenerator,
};

// What a value depends on. A reduction over all ranks takes kRank, kLocal and kUneven away.
enum Taint : std::uint16_t {
  kRank = 1,        // the process rank (global or local)
  kWorld = 2,       // the number of processes
  kLocal = 4,       // data that only this rank has: a batch, a loss, a caught exception, a clock
  kUneven = 8,      // its length may differ from rank to rank
  kEndless = 16,    // iterating it never ends
  kStepCount = 32,  // a counter or a loop position, equal on all ranks
  kReduced = 64,    // came out of a reduction, broadcast or gather
};
using Taints = std::uint16_t;

// A number that is exactly this, not computed from it.
enum class Identity : std::uint8_t { kNone, kGlobalRank, kLocalRank, kWorldSize, kSpawnIndex };

enum class Sharding : std::uint8_t { kNone, kFsdp1, kFsdp2, kDdp, kAccelerate, kDeepSpeed };

struct Object {
  Object() = default;
  explicit Object(std::pmr::memory_resource* memory) : items(memory), members(memory) {}

  Type type = Type::kUnknown;
  Identity identity = Identity::kNone;
  Taints taints = 0;
  // kExternal, kMethod: the name. kText: its text (interpolations left out). Others: the attribute or parameter it came
  // from.
  std::string_view name;
  // The callee that made it: "torch.optim.AdamW", "ClassName" of the files, ".parameters" for a method.
  std::string_view callee;
  const Arguments* made_by = nullptr;   // the arguments of that call
  double number = 0;                    // kNumber, kBool
  bool constant = false;                // kNumber, kBool, kText: the value is known
  bool reversed = false;                // an iteration order turned round
  bool element = false;                 // stands for every item of an iteration over `parent`
  Sharding sharding = Sharding::kNone;  // kModel: applied to exactly this module; a wrapper is its own object
  Object* receiver = nullptr;           // kMethod, and results of methods: the object whose method it was
  Object* parent = nullptr;             // the object it is an attribute or item of
  Object* wrapped = nullptr;            // a wrapper: the module inside; a prepared or compiled object: the original
  const Class* of_class = nullptr;      // kClass, kInstance, kModel of a class of the files
  const Function* function = nullptr;   // kFunction, kMethod, kGenerator
  Scope* scope = nullptr;               // kFunction: where it was defined
  const SourceFile* file = nullptr;     // where it was made
  Node node;
  int created = -1;                                                // index of the event that made it, -1: none
  const Guard* guard = nullptr;                                    // in force when it was made
  std::pmr::vector<Object*> items;                                 // kSequence, kUnion, kParameters (the models)
  std::pmr::vector<std::pair<std::string_view, Object*>> members;  // attributes, or items of a dict

  Object* member(std::string_view key) const;
  bool has(Taints some) const { return (taints & some) != 0; }
  bool is_true() const { return constant && type != Type::kText && number != 0; }
  bool is_false() const { return type == Type::kNone || (constant && type != Type::kText && number == 0); }
};

struct Argument {
  std::string_view name;  // empty: positional; "*", "**": unpacked and not known item by item
  Object* value = nullptr;
  Node node;
};

struct Arguments {
  Arguments() = default;
  explicit Arguments(std::pmr::memory_resource* memory) : list(memory) {}

  std::pmr::vector<Argument> list;
  // By keyword, else by position (-1: keyword only). nullptr: not given.
  const Object* get(std::string_view name, int position = -1) const;
  const Argument* find(std::string_view name, int position = -1) const;
  bool has_unknown() const;  // some are unpacked from something not seen
};

const Object* likeliest_of(const Object& some);  // of a union
// The likeliest of a union; the object itself otherwise. Never nullptr for a given object.
inline const Object* main_of(const Object* object) {
  return object == nullptr || object->type != Type::kUnion ? object : likeliest_of(*object);
}
inline Object* main_of(Object* object) {
  return const_cast<Object*>(main_of(static_cast<const Object*>(object)));
}
// Every alternative of a union, else the object alone.
std::vector<const Object*> alternatives(const Object* object);
// Strips wrappers, compilation and prepare(): the module that was built first.
const Object* core_of(const Object* object);
// The outermost module that holds this part; wrappers stripped.
const Object* root_of(const Object* part);
// True if part lies inside whole (or is it), however deep; wrappers stripped.
bool lies_in(const Object* part, const Object* whole);
// True if both are the same module, parts of one root, or wrappers of one another.
bool same_model(const Object* a, const Object* b);
bool is_constant_text(const Object* object, std::string_view text);
// "torch.bfloat16" and the like; a text constant too.
bool is_dtype(const Object* object, std::string_view short_name);

}  // namespace fx::knowledge::code
