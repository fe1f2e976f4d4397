#include <algorithm>
#include <array>
#include <functional>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

// A name that stands for the tokens that count: a response or attention mask, padding, labels.
// Built by the code itself or by the model: as many positions in each row as the code chose.
bool is_built(const Object& mask) {
  static constexpr std::array<std::string_view, 9> kFactories = {"zeros", "ones", "full",       "rand",     "randn",
                                                                 "empty", "tril", "zeros_like", "bernoulli"};
  const Object* at = &mask;
  for (int i = 0; i < 12 && at != nullptr; ++i) {
    at = main_of(at);
    if (at->callee == "()" && at->receiver != nullptr && at->receiver->type == Type::kModel) return true;
    for (const std::string_view factory : kFactories) {
      if (at->callee.starts_with("torch.") && last_part(at->callee) == factory) return true;
    }
    at = at->receiver;
  }
  return false;
}

bool is_token_mask(const Object& object) {
  static constexpr std::array<std::string_view, 8> kWords = {"mask",   "valid",    "pad",        "keep",
                                                             "answer", "response", "completion", "assistant"};
  for (const std::string_view word : kWords) {
    if (contains_ignoring_case(object.name, word)) return !is_built(object);
  }
  return false;
}

bool is_ignored_label(const Object& object) {
  return object.type == Type::kNumber && object.constant && object.number == -100;
}

// A count of this rank's tokens: mask.sum(), (labels != -100).sum(), count_nonzero.
bool is_local_count(const Object* value) {
  if (made_from(value, [](const Object& object) { return object.has(kReduced); })) return false;
  return made_from(value, [](const Object& object) {
    const bool counts =
        object.callee == ".sum" || object.callee == "torch.sum" || ends_with_part(object.callee, "count_nonzero");
    if (!counts) return false;
    return made_from(&object, is_token_mask) || made_from(&object, is_ignored_label);
  });
}

bool is_sum(const Object& object) {
  if (object.callee == ".sum" || object.callee == "torch.sum") return true;
  // F.cross_entropy(..., reduction="sum"), or the call of a criterion that was built so
  const Object* criterion = object.callee == "()" ? main_of(object.receiver) : &object;
  const bool loss = criterion != nullptr && criterion->made_by != nullptr && criterion->callee.starts_with("torch.nn.");
  return loss && is_constant_text(criterion->made_by->get("reduction"), "sum");
}

// Above the sum itself, not within it, something divides or multiplies by the number of ranks.
bool is_rescaled(const Object* value, int depth) {
  value = main_of(value);
  if (value == nullptr || depth == 0) return false;
  if (value->callee == "/" || value->identity == Identity::kWorldSize || value->callee.ends_with("get_world_size"))
    return true;
  if (value->callee.size() > 2 || value->made_by == nullptr) return false;
  for (const Argument& operand : value->made_by->list) {
    if (is_rescaled(operand.value, depth - 1)) return true;
  }
  return false;
}

bool divides_by_local_count(const Object& object) {
  if (object.callee != "/" || object.made_by == nullptr || object.made_by->list.size() != 2) return false;
  const Object* above = object.made_by->list[0].value;
  return made_from(above, is_sum) && is_local_count(object.made_by->list[1].value) && !is_rescaled(above, 6);
}

// The arguments that say how labels are averaged: of the functional call, or of the criterion that is called.
const Arguments* options_of(const Object& loss) {
  if (loss.callee == "torch.nn.functional.cross_entropy" || loss.callee == "torch.nn.functional.nll_loss")
    return loss.made_by;
  const Object* criterion = loss.callee == "()" ? main_of(loss.receiver) : nullptr;
  const bool known = criterion != nullptr &&
                     (criterion->callee == "torch.nn.CrossEntropyLoss" || criterion->callee == "torch.nn.NLLLoss");
  return known ? criterion->made_by : nullptr;
}

bool averages_over_labels(const Object& object, bool lengths_vary) {
  const Arguments* options = options_of(object);
  if (options == nullptr) return false;
  const Object* reduction = options->get("reduction");
  if (reduction != nullptr && !is_constant_text(reduction, "mean")) return false;
  return options->find("ignore_index") != nullptr || (lengths_vary && !options->has_unknown());
}

Node call_around(Node argument) {
  return argument.parent().is("argument_list") ? argument.parent().parent() : Node();
}

// One of so many drawn positions: randperm(length)[:count], sample(range(length), count).
bool draws_a_fixed_number(Node value) {
  const bool drawn = contains(value.text(), "randperm(") || contains(value.text(), "argsort(");
  if (!drawn || !value.is("subscript")) return contains(value.text(), "random.sample(");
  const Node cut = value.child("subscript");
  const Node count = cut.is("slice") ? cut.first_child() : Node();
  return count.is("identifier") || count.is("integer") || count.is("attribute");
}

// labels[drawn] = ... below: the only labels that are not ignored.
bool fills_a_fixed_number(Node function, std::string_view labels, int& budget) {
  const auto assigned = [&](const std::function<bool(Node, Node)>& test) {
    std::vector<Node> open = {function};
    while (!open.empty() && --budget > 0) {
      const Node node = open.back();
      open.pop_back();
      if (node.is("assignment") && test(node.child("left"), node.child("right"))) return true;
      for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
    }
    return false;
  };
  return assigned([&](Node target, Node) {
    if (!target.is("subscript") || target.child("value").text() != labels) return false;
    const std::string_view drawn = target.child("subscript").text();
    return assigned([&](Node name, Node value) { return name.text() == drawn && draws_a_fixed_number(value); });
  });
}

// Every -100 of the files is a background onto which each sample writes the same number of labels.
bool hides_a_fixed_number(const Program& program) {
  bool some = false;
  int budget = 100'000;  // nodes to look at
  for (const auto& file : program.files()) {
    std::vector<Node> open = {file->syntax->root()};
    while (!open.empty()) {
      const Node node = open.back();
      open.pop_back();
      for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
      if (!node.is("unary_operator") || node.text() != "-100" || node.parent().is("keyword_argument")) continue;
      const Node call = call_around(node);
      Node function = call;
      while (function && !function.is("function_definition")) function = function.parent();
      if (!function || !contains(call.child("function").text(), "full") || !call.parent().is("assignment") ||
          !fills_a_fixed_number(function, call.parent().child("left").text(), budget))
        return false;
      some = true;
    }
  }
  return some;
}

// Padding collates, labels of -100 or a test for empty targets somewhere in the files.
bool shows_lengths_vary(const Program& program) {
  for (const std::string_view name : {"torch.nn.utils.rnn.pad_sequence", "torch.nn.functional.pad", ".pad"}) {
    if (program.calls(name)) return true;
  }
  for (const auto& file : program.files()) {
    std::vector<Node> open = {file->syntax->root()};
    while (!open.empty()) {
      const Node node = open.back();
      open.pop_back();
      if (node.is("unary_operator") && node.text() == "-100") return true;
      for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
    }
  }
  return false;
}

bool is_data_parallel(const Program& program, const Trace& trace, const Event& backward) {
  if (program.uses_accelerate() || !program.backends().empty()) return true;
  for (std::uint32_t i = 0; i < backward.index; ++i) {
    const Event& event = trace.events[i];
    if (event.is(EventKind::kForward) && sharding_of(trace, event.subject) != Sharding::kNone) return true;
  }
  return program.imports("torch.distributed");
}

const Object* loss_of(const Event& backward) {
  const Object* receiver = main_of(backward.receiver);
  const bool handed_over = receiver == nullptr || receiver->type == Type::kAccelerator;
  if (handed_over) return backward.argument("loss", 0);
  return receiver;
}

}  // namespace

void mean_loss_uneven_tokens(const Program& program, Findings& findings) {
  if (std::ranges::none_of(program.traces(), [](const Trace& trace) { return trace.has(EventKind::kBackward); }))
    return;
  const bool vary = shows_lengths_vary(program);
  const bool fixed = hides_a_fixed_number(program) && !program.calls("torch.nn.utils.rnn.pad_sequence");
  for (const Trace& trace : program.traces()) {
    for (const Event& backward : trace.events) {
      if (!backward.is(EventKind::kBackward) || backward.pass != 1 || !is_data_parallel(program, trace, backward))
        continue;
      // The first such average on the way to the loss; a reduced count on the way means that it was put right.
      const Object* found = nullptr;
      const Object* loss = loss_of(backward);
      made_from(loss, [&](const Object& object) {
        if (!divides_by_local_count(object) && (fixed || !averages_over_labels(object, vary))) return false;
        found = &object;
        return true;
      });
      const bool reweighted = made_from(loss, [](const Object& object) {
        return object.callee == "*" && object.made_by != nullptr && object.made_by->list.size() == 2 &&
               (made_from(object.made_by->list[0].value, [](const Object& part) { return part.has(kReduced); }) ||
                made_from(object.made_by->list[1].value, [](const Object& part) { return part.has(kReduced); }));
      });
      if (found != nullptr && found->file != nullptr && !reweighted) findings.at(found->file, found->node);
    }
  }
}

}  // namespace fx::knowledge::checks
