#include "knowledge/python/syntax.h"

#include <gtest/gtest.h>

#include <map>

#include "knowledge/python/kind_table.h"

namespace fx::knowledge::python {
namespace {

Node find(Node from, std::string_view kind) {
  if (from.kind() == kind) return from;
  for (const Node child : from.children()) {
    if (const Node found = find(child, kind)) return found;
  }
  return {};
}

TEST(Syntax, NodesHaveKindsFieldsTextAndPlaces) {
  const auto syntax = Syntax::parse("x = 1\n# a remark\nloss = model.forward(batch, scale=2)\n");
  EXPECT_FALSE(syntax->has_errors());
  const Node call = find(syntax->root(), "call");
  ASSERT_TRUE(call);
  EXPECT_EQ(call.line(), 3);
  EXPECT_EQ(call.column(), 8);
  EXPECT_EQ(call.child("function").text(), "model.forward");
  EXPECT_EQ(call.child("arguments").children().size(), 2u);
  EXPECT_EQ(find(call, "keyword_argument").child("name").text(), "scale");
  EXPECT_EQ(call.parent().child("left").text(), "loss");
}

TEST(Syntax, OperatorsAreKeptWithTheirText) {
  const auto syntax = Syntax::parse("ok = rank != 0 and not done\n");
  const Node both = find(syntax->root(), "boolean_operator");
  EXPECT_EQ(both.child("operator").kind(), "and");
  EXPECT_EQ(find(both, "comparison_operator").child("operators").kind(), "!=");
}

TEST(Syntax, BrokenCodeKeepsTheReadableRest) {
  const auto syntax = Syntax::parse("def broken(:\n    pass\n\ndist.barrier()\n");
  EXPECT_TRUE(syntax->has_errors());
  const Node call = find(syntax->root(), "call");
  ASSERT_TRUE(call);
  EXPECT_EQ(call.line(), 4);
}

TEST(Syntax, DeepNestingIsCutAndNeverOverflows) {
  std::string sums = "x = a";
  for (int i = 0; i < 20000; ++i) sums += " + a";
  EXPECT_TRUE(Syntax::parse(sums)->incomplete());
  EXPECT_TRUE(Syntax::parse(std::string(1 << 20, '('))->incomplete());
  std::string calls = "x = " + std::string(900, '[') + std::string(900, ']');
  EXPECT_TRUE(Syntax::parse(calls)->incomplete());
  std::string nots = "x = ";
  for (int i = 0; i < 100000; ++i) nots += "not ";
  EXPECT_TRUE(Syntax::parse(nots + "y")->incomplete());
}

TEST(Syntax, SaysWhatWasLeftOutAndWhy) {
  EXPECT_EQ(Syntax::parse("x = 1\n")->left_out(), "");
  EXPECT_NE(Syntax::parse(std::string(2000, '['))->left_out().find("brackets"), std::string_view::npos);
  const auto spent = Syntax::parse("x = 1\n", 0);
  EXPECT_NE(spent->left_out().find("too much work"), std::string_view::npos);
  EXPECT_EQ(spent->size(), 0u);
}

TEST(Syntax, APauseOfTheParserChangesNoTree) {
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += "def f" + std::to_string(i) + "(a, *b):\n    if a:\n        return [x for x in b]\n    (broken\n";
  const auto once = Syntax::parse(text), again = Syntax::parse(text);
  ASSERT_EQ(once->size(), again->size());
  EXPECT_GT(once->size(), 4000u);
  EXPECT_EQ(once->root().text(), text);
}

TEST(Syntax, TextThatIsNoPythonGivesErrors) {
  EXPECT_TRUE(Syntax::parse("#include <cstdio>\nint main() { return 0; }\n")->has_errors());
  EXPECT_EQ(Syntax::parse("")->root().children().size(), 0u);
}

TEST(GrammarName, DiffersForAllNamesOfTheGrammar) {
  std::map<std::uint32_t, std::string_view> seen;
  for (const auto names : {kind_names(), field_names()}) {
    for (const std::string_view name : names) EXPECT_EQ(seen.emplace(mark_of(name), name).first->second, name);
  }
  EXPECT_EQ(GrammarName("call").mark(), mark_of("call"));
}

TEST(KindTable, HoldsOneValueForAllNumbersOfAKind) {
  const KindTable<int> table = {{"call", 1}, {"ERROR", 2}, {"assignment", 3}};
  const auto syntax = Syntax::parse("x = f(1)\nif x y(\n");
  EXPECT_EQ(table.of(find(syntax->root(), "call")), 1);
  EXPECT_EQ(table.of(find(syntax->root(), "assignment")), 3);
  EXPECT_EQ(table.of(find(syntax->root(), "ERROR")), 2);
  EXPECT_EQ(table.of(find(syntax->root(), "integer")), 0);
  EXPECT_EQ(table.of(Node()), 0);
}

TEST(Syntax, AMissingNodeAnswersEmptily) {
  const Node none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.child("left").text(), "");
  EXPECT_EQ(none.line(), 0);
}

}  // namespace
}  // namespace fx::knowledge::python
