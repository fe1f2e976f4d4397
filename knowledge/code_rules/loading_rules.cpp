// Weights that come from a file: into what, when, and on which device.
#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/accumulation.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"
#include "knowledge/code_rules/participation.h"
#include "knowledge/code_rules/processes.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool loads_into_model(const Event& event) {
  return event.is(EventKind::kLoadState) && event.callee == ".load_state_dict" && event.subject != nullptr &&
         core_of(event.subject)->type == Type::kModel;
}

bool is_set(const Event& event, std::string_view name, int position, bool to) {
  const Object* value = event.argument(name, position);
  return value != nullptr && value->type == Type::kBool && (to ? value->is_true() : value->is_false());
}

// Written at the call itself; a parameter that is False by default is the caller's choice.
bool says_false(const Arguments* arguments, std::string_view name, int position) {
  const Argument* given = arguments == nullptr ? nullptr : arguments->find(name, position);
  if (given == nullptr) return false;
  return given->node.is("keyword_argument") ? given->node.child("value").is("false") : given->node.is("false");
}

bool shards_before(const Trace& trace, const Event& load) {
  bool shown = false;
  for (const Event& shard : trace.events) {
    if (!shard.is(EventKind::kShard) || !same_model(shard.subject, load.subject)) continue;
    shown = true;
    if (shard.index < load.index && compatible(shard, load)) return true;
  }
  return !shown && sharding_of(trace, load.subject) == Sharding::kFsdp2;  // its type says so
}

bool is_file_state(const Object& object) {
  return ends_with_part(object.callee, "load_file") || object.callee == "torch.load";
}

bool is_sharded_state(const Object& object) {
  return ends_with_part(object.callee, "distribute_tensor") || object.callee == ".state_dict" ||
         ends_with_part(object.callee, "get_model_state_dict") || ends_with_part(object.callee, "from_local");
}

bool sees_rank(const Object& object) {
  return object.has(kRank) || object.identity == Identity::kGlobalRank;
}

bool replaces_parameter(const Event& event) {
  if (!event.is(EventKind::kSetAttribute) || event.receiver == nullptr || event.receiver->type != Type::kModel)
    return false;
  const Object* value = event.argument("", 0);
  return value != nullptr && value->callee == "torch.nn.Parameter";
}

bool named_in(Node scope, std::string_view name, std::size_t after) {
  std::vector<Node> open = {scope};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (node.is("identifier") && node.begin() >= after && node.text() == name && node.field() != "name") return true;
    for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
  }
  return false;
}

// The result is dropped, or bound to names that nobody reads.
bool result_unread(const Event& load) {
  const Node up = load.node.parent();
  if (up.is("expression_statement")) return true;
  if (!up.is("assignment") || up.child("right") != load.node) return false;
  Node scope = up;
  while (scope && !scope.is("function_definition") && !scope.is("module")) scope = scope.parent();
  std::vector<Node> open = {up.child("left")};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (node.is("attribute") || node.is("subscript")) return false;
    if (node.is("identifier") && node.text() != "_" && named_in(scope, node.text(), up.end())) return false;
    for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
  }
  return true;
}

// The code compares the names itself: missing = set(wanted) - set(given).
bool compares_names(const Event& load) {
  const Function* function = load.frame == nullptr ? nullptr : load.frame->function;
  if (function == nullptr) return false;
  std::vector<Node> open = {function->node};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (node.is("identifier") && (contains(node.text(), "missing") || contains(node.text(), "unexpected"))) return true;
    for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
  }
  return false;
}

bool lenient_options(const Event& event) {
  const Object* options = event.arguments == nullptr ? nullptr : event.arguments->get("options");
  if (options != nullptr && options->type == Type::kUnion) return false;  // strict for some
  return options != nullptr && ends_with_part(options->callee, "StateDictOptions") &&
         says_false(options->made_by, "strict", -1);
}

// checkpoint["ranges"]: not what checkpoints call the weights.
bool names_a_part(Node argument) {
  const Node key = argument.is("subscript") ? argument.child("subscript") : Node();
  if (!key || !key.is("string")) return false;
  return std::ranges::none_of(
      std::initializer_list<std::string_view>{"model", "state", "weight", "net", "module", "param", "ema", "encoder",
                                              "decoder", "backbone", "policy", "student", "teacher", "gen", "disc"},
      [&](std::string_view word) { return contains_ignoring_case(key.text(), word); });
}

// One of several parts: a dict spelled out, a shard of many, or the model's own state put back.
bool is_part(const Event& load) {
  if (load.loop != nullptr || load.arguments == nullptr) return true;
  const Object* state = load.argument(load.callee == ".load_state_dict" ? "state_dict" : "model_state_dict",
                                      load.callee == ".load_state_dict" ? 0 : 1);
  if (state == nullptr || names_a_part(load.arguments->list.front().node)) return true;
  if (state->type == Type::kDict && state->callee.empty()) {
    // Filled from a file, name by name: the whole of it.
    const bool filled = !state->node.first_child() && !state->members.empty() && state->members.front().first.empty();
    return !filled || !made_from(state, is_file_state);
  }
  return made_from(state, [](const Object& object) { return object.callee == ".state_dict"; });
}

// Handed in from outside of the run: an argument or the environment, and no checkpoint of its own.
bool comes_from_outside(const Object* path, Node node) {
  for (const std::string_view word : {"resume", "ckpt", "checkpoint", "last"}) {
    if (contains_ignoring_case(node.text(), word)) return false;
  }
  for (const std::string_view word : {"url", "http", "download", "hub"}) {
    if (contains_ignoring_case(node.text(), word)) return true;
  }
  return made_from(path, [](const Object& object) {
    return ends_with_part(object.callee, "parse_args") || object.callee == ".parse_args" ||
           object.callee == "os.getenv" || object.name == "sys.argv" ||
           ends_with_part(object.callee, "hf_hub_download") || contains(object.callee, "download");
  });
}

bool in_dataset(const Event& event) {
  for (const Frame* frame = event.frame; frame != nullptr; frame = frame->caller) {
    const Class* of = frame->function == nullptr ? nullptr : frame->function->of_class;
    if (of != nullptr && (of->is_dataset || of->is_iterable_dataset)) return true;
  }
  return false;
}

}  // namespace

void full_state_into_sharded_model(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& load : trace.events) {
      if (!loads_into_model(load) || is_set(load, "assign", 2, true)) continue;
      if (sharding_of(trace, load.subject) != Sharding::kFsdp2 || !shards_before(trace, load)) continue;
      const Object* state = load.arguments == nullptr ? nullptr : load.arguments->get("state_dict", 0);
      if (made_from(state, is_file_state) && !made_from(state, is_sharded_state) && !made_from(state, sees_rank))
        findings.at(load, "The file holds whole tensors, the model holds shards.");
    }
  }
}

void assign_load_after_optimizer(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& load : trace.events) {
      const bool assigns = loads_into_model(load) && is_set(load, "assign", 2, true);
      if (!assigns && !replaces_parameter(load)) continue;
      for (const Event& built : trace.events) {
        if (built.is(EventKind::kOptimizer) && built.index < load.index && built.pass == load.pass &&
            same_model(built.subject, load.subject) && compatible(built, load))
          findings.at(load, "The optimizer was built from the parameters that are replaced here.");
      }
    }
  }
}

void strict_false_hides_mismatch(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& load : trace.events) {
      const bool own = loads_into_model(load) && says_false(load.arguments, "strict", 1);
      const bool by_options = load.is(EventKind::kLoadState) && ends_with_part(load.callee, "set_model_state_dict") &&
                              lenient_options(load);
      if ((own || by_options) && result_unread(load) && !is_part(load) && !compares_names(load)) findings.at(load);
    }
  }
}

void torch_load_per_rank(const Program& program, Findings& findings) {
  if (!is_multi_process(program)) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& load : trace.events) {
      if (!load.is(EventKind::kLoad) || load.callee != "torch.load" || load.arguments == nullptr || in_dataset(load))
        continue;
      if (load.arguments->has_unknown() || differs_by_rank(load.arguments->get("f", 0))) continue;
      const Object* where = load.argument("map_location", 1);
      const Object* path = load.arguments->get("f", 0);
      if ((where == nullptr || where->type == Type::kNone) && !may_be_for_one_rank(load) &&
          context_of(load, "torch.device") == nullptr) {
        findings.at(load, "No map_location.");
      } else if (is_set(load, "weights_only", -1, false) && path != nullptr &&
                 comes_from_outside(path, load.arguments->list.front().node)) {
        findings.at(load, "weights_only=False on a file from outside.");
      }
    }
  }
}

}  // namespace fx::knowledge::checks
