// Permutations that differ from rank to rank and are then cut into shares.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"
#include "knowledge/code_rules/rank_shares.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool seeded_by_rank(const Object* generator) {
  return made_from(generator, [](const Object& object) {
    return object.callee == ".manual_seed" && object.made_by != nullptr && !object.made_by->list.empty() &&
           object.made_by->list.front().value->has(kRank);
  });
}

// numpy.random.default_rng(seed + rank).permutation(n), random.Random(rank).shuffle(order)
bool drawn_by_rank(const Event& event) {
  if (event.callee != ".permutation" && event.callee != ".shuffle") return false;
  const Object* source = main_of(event.receiver);
  if (source == nullptr || source->made_by == nullptr) return false;
  const std::string_view made = last_part(source->callee);
  if (made != "default_rng" && made != "RandomState" && made != "Random") return false;
  return std::ranges::any_of(source->made_by->list, [](const Argument& seed) { return seed.value->has(kRank); });
}

// numpy.random.permutation(n), random.shuffle(order), torch.randperm(n): from the one generator of the library, which
// was seeded with the rank before.
bool drawn_after_a_seed_of_the_rank(const Trace& trace, const Event& event) {
  struct Source {
    std::string_view draws, seeds;
  };
  constexpr std::array kSources = {
      Source{"numpy.random.permutation", "numpy.random.seed"}, Source{"numpy.random.shuffle", "numpy.random.seed"},
      Source{"random.shuffle", "random.seed"}, Source{"torch.randperm", "torch.manual_seed"}};
  const auto* source = std::ranges::find(kSources, event.callee, &Source::draws);
  if (source == kSources.end() || event.argument("generator") != nullptr) return false;
  const Event* last = nullptr;
  for (std::uint32_t i = 0; i < event.index; ++i) {
    if (trace.events[i].callee == source->seeds) last = &trace.events[i];
  }
  return last != nullptr &&
         std::ranges::any_of(last->arguments->list, [](const Argument& seed) { return seed.value->has(kRank); });
}

// The text says rank, or a name in it was bound to something that does: me, parts = dist.get_rank(), ...
bool speaks_of_the_rank(Node cut, Node function) {
  if (contains_ignoring_case(cut.text(), "rank")) return true;
  std::vector<Node> open = {function};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
    if (!node.is("assignment") || !contains_ignoring_case(node.child("right").text(), "rank")) continue;
    const Node target = node.child("left");
    const std::vector<Node> names = target.is("identifier") ? std::vector<Node>{target} : target.children();
    const Node start = cut.first_child();  // of start::step
    if (std::ranges::any_of(names, [&](Node name) { return start && name.text() == start.text(); })) return true;
  }
  return false;
}

// order[rank::world] or islice(order, rank, None, world) in the function that made the permutation, by the name it was
// bound to.
bool cut_by_rank(Node made, Node function) {
  Node bound = made.parent();
  while (bound.is("attribute") || bound.is("call")) bound = bound.parent();  // .tolist()
  const bool in_place = last_part(made.child("function").text()) == "shuffle" && made.child("arguments").first_child();
  if (!bound.is("assignment") && !in_place) return false;
  const std::string_view name = in_place ? made.child("arguments").first_child().text() : bound.child("left").text();
  std::vector<Node> open = {function};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    const Node cut = node.child("subscript"), given = node.child("arguments");
    if (node.is("subscript") && cut.is("slice") && node.child("value").text() == name &&
        speaks_of_the_rank(cut, function))
      return true;
    if (node.is("call") && last_part(node.child("function").text()) == "islice" && given.first_child().text() == name &&
        contains_ignoring_case(given.text(), "rank"))
      return true;
    for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
  }
  return false;
}

bool cut_by_rank(const Event& made) {
  return made.frame != nullptr && made.frame->function != nullptr && cut_by_rank(made.node, made.frame->function->node);
}

bool permutes_and_cuts_by_rank(const Function& method, std::string_view seed) {
  bool seeded = false, cuts = false;
  std::vector<Node> open = {method.node};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
    const std::string_view name = node.is("call") ? last_part(node.child("function").text()) : std::string_view();
    seeded |= node.is("identifier") && node.text() == seed;
    cuts |= (name == "randperm" || name == "permutation" || name == "shuffle") && cut_by_rank(node, method.node);
  }
  return seeded && cuts;
}

// Shares(rows, seed=seed + rank), of a class of the files that permutes all rows by its seed and takes its rank's part.
bool is_seeded_with_the_rank(const Event& made) {
  const Class* of = made.is(EventKind::kCall) && made.result != nullptr ? made.result->of_class : nullptr;
  if (of == nullptr || made.result->node != made.node || made.callee != of->name) return false;
  const Function* init = of->method("__init__");
  std::vector<Node> parameters = init == nullptr ? std::vector<Node>{} : init->node.child("parameters").children();
  for (std::size_t i = 0; i < made.arguments->list.size(); ++i) {
    const Argument& given = made.arguments->list[i];
    const bool placed = given.name.empty() && i + 1 < parameters.size();  // behind self
    std::string_view name = placed ? parameters[i + 1].text() : given.name;
    name = name.substr(0, name.find_first_of(":= "));
    if (!contains_ignoring_case(name, "seed") || !given.value->has(kRank)) continue;
    if (std::ranges::any_of(of->methods,
                            [&](const Function* method) { return permutes_and_cuts_by_rank(*method, name); }))
      return true;
  }
  return false;
}

}  // namespace

void sampler_seed_per_rank(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.result == nullptr || event.arguments == nullptr) continue;
      if (is_sharding_sampler(*event.result) && event.result->node == event.node) {
        const Object* seed = event.arguments->get("seed", 4);
        if (seed != nullptr && seed->has(kRank)) findings.at(event);
      }
      if (is_seeded_with_the_rank(event)) findings.at(event);
      if ((drawn_by_rank(event) || drawn_after_a_seed_of_the_rank(trace, event)) && cut_by_rank(event))
        findings.at(event);
      if (event.callee == "torch.randperm" && seeded_by_rank(event.arguments->get("generator")) && cut_by_rank(event))
        findings.at(event);
    }
  }
}

}  // namespace fx::knowledge::checks
