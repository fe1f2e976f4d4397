#include <algorithm>

#include "base/text.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/participation.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

bool returns_a_wrapper(const Event& event) {
  return is_fsdp1(event) || event.callee == "torch.compile" ||
         event.callee == "torch.distributed.checkpoint_wrapper.checkpoint_wrapper" || event.is(EventKind::kDdp);
}

bool binds(Node target, std::string_view name) {
  if (target.is("identifier")) return target.text() == name;
  return std::ranges::any_of(target.children(), [&](Node child) { return binds(child, name); });
}

// A use that can keep the object: an argument, a right side, an element, a result. A call of the object itself is none.
bool keeps(Node name) {
  const Node parent = name.parent();
  if (parent.is("attribute") || parent.is("for_statement")) return false;
  if (parent.is("call")) return false;
  // A sharding call in place keeps nothing in the parent.
  if (parent.is("argument_list"))
    return parent.parent().child("function").text().find("fully_shard") == std::string_view::npos;
  return name.field() != "left";
}

bool kept_after(Node body, std::size_t from, std::string_view name) {
  std::vector<Node> open = {body};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    for (Node child = node.first_child(); child; child = child.next_sibling()) {
      if (child.is("identifier") && child.begin() >= from && child.text() == name && keeps(child)) return true;
      open.push_back(child);
    }
  }
  return false;
}

// The comprehension whose items the call makes; list(map(wrapper, modules)) is one too.
Node collected(Node call) {
  const Node up = call.parent();
  const bool item = call.field() == "body" && (up.is("list_comprehension") || up.is("set_comprehension"));
  return item ? up : call;
}

// A later line of the function, or an earlier one of a loop around, reads the name. At module level anybody may.
bool read_after(Node assignment, std::string_view name) {
  Node scope = assignment.parent();
  bool loops = false;
  for (; scope && !scope.is("function_definition"); scope = scope.parent())
    loops |= scope.is("for_statement") || scope.is("while_statement");
  if (!scope) return true;
  std::vector<Node> open = {scope.child("body")};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    const bool nested = node.is("function_definition") || node.is("lambda");
    if (node.is("global_statement") || node.is("nonlocal_statement") || (nested && contains(node.text(), name)))
      return true;
    const bool bound = node.field() == "left" && node.parent().is("assignment");
    const bool reachable = loops || node.begin() >= assignment.end();
    if (node.is("identifier") && !bound && reachable && node.text() == name && !within(node, assignment)) return true;
    for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
  }
  return false;
}

}  // namespace

void wrap_result_discarded(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!returns_a_wrapper(event) || !event.node.is("call")) continue;
      const Node value = collected(event.node);  // the call, or the list that is made of its results
      const Node parent = value.parent();
      if (parent.is("expression_statement")) {
        findings.at(event);
        continue;
      }
      const Node target = parent.is("assignment") ? parent.child("left") : Node();
      if (!target.is("identifier") || parent.parent().is("assignment")) continue;  // items[i] = name = wrap(name)
      if (!read_after(parent, target.text())) {
        findings.at(event, "Nothing reads the result.");
        continue;
      }
      for (const Loop* loop = event.loop; loop != nullptr; loop = loop->outer) {
        const bool rebinds = loop->file == event.file && within(event.node, loop->node) &&
                             binds(loop->node.child("left"), target.text());
        if (rebinds && !kept_after(loop->node.child("body"), parent.end(), target.text())) findings.at(event);
      }
    }
  }
}

}  // namespace fx::knowledge::checks
