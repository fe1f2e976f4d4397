#include "knowledge/code_rules/rank_shares.h"

#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge {

using namespace code;

namespace {

constexpr int kMaxBases = 8;

bool mentions_ranks(std::string_view code) {
  const std::string text = to_lower(code);
  for (const std::string_view word : {"rank", "world", "process_index", "num_processes", "replica",
                                      "split_dataset_by_node", "dp_", "mesh", "shard("}) {
    if (contains(text, word)) return true;
  }
  return false;
}

bool mentions_ranks(const Program& program, const Class& of, int depth) {
  if (mentions_ranks(of.node.text())) return true;
  for (const Class* base : of.base_classes) {
    if (depth > 0 && mentions_ranks(program, *base, depth - 1)) return true;
  }
  return std::ranges::any_of(program.functions(), [&](const Function& function) {
    return function.of_class == nullptr && !function.node.is("lambda") &&
           contains(of.node.text(), std::string(function.name) + "(") && mentions_ranks(function.node.text());
  });
}

}  // namespace

bool is_sharding_sampler(const Object& object) {
  return ends_with_part(object.callee, "DistributedSampler") ||
         ends_with_part(object.callee, "StatefulDistributedSampler");
}

bool is_loader(const Object* object) {
  return object != nullptr && object->type == Type::kLoader && object->made_by != nullptr;
}

const Object* dataset_of(const Object& loader) {
  return loader.made_by->get("dataset", 0);
}

bool depends_on_rank(const Object* value) {
  return made_from(value, [](const Object& object) {
    return object.has(kRank) || object.identity == Identity::kGlobalRank ||
           contains(object.callee, "split_dataset_by_node");
  });
}

bool mentions_ranks(const Program& program, const Class& of) {
  return mentions_ranks(program, of, kMaxBases);
}

bool may_be_split(const Object& made) {
  if (made.made_by == nullptr) return true;
  for (const Argument& argument : made.made_by->list) {
    if (argument.name == "*" || argument.name == "**") return true;
    if (depends_on_rank(argument.value) || argument.value->has(kLocal | kUneven)) return true;
    const Object* value = main_of(argument.value);
    if (value->type == Type::kNumber || value->type == Type::kText || value->type == Type::kBool ||
        value->type == Type::kNone || value->type == Type::kFunction)
      continue;
    bool is_source = false;
    for (const std::string_view word : {"path", "file", "dir", "root", "pattern", "glob", "url", "name", "folder",
                                        "length", "size", "tok", "encode", "args", "config", "cfg"}) {
      is_source |= contains_ignoring_case(value->name, word) || contains_ignoring_case(argument.node.text(), word);
    }
    if (!is_source && value->callee.empty()) return true;
  }
  return false;
}

}  // namespace fx::knowledge
