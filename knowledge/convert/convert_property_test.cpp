// Over the good examples of all our pages: what holds for every source and every target.
#include "knowledge/convert/convert.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "knowledge/convert/difference.h"
#include "knowledge/rules/validate.h"
#include "knowledge/store/page.h"

namespace fx::knowledge {
namespace {

struct Source {
  std::string where;
  Input input;
};

// Every good example of our pages that says how a model is trained.
std::vector<Source> page_sources() {
  std::vector<Source> out;
  for (const EmbeddedFile& file : embedded::rule_pages()) {
    const auto page = parse_page(file.text);
    if (!page) continue;
    for (const Example& example : page->examples) {
      if (example.kind != "good") continue;
      Context context;
      if (const auto found = example.expect.find("context"); found != example.expect.end()) {
        const Document json = read_json(found->second);
        context.gpus = integer_of(json.root.find("gpus"));
        context.nodes = integer_of(json.root.find("nodes"));
      }
      out.push_back({std::string(file.path) + ":" + std::to_string(example.line),
                     read_input(example.text, "", std::move(context))});
    }
  }
  return out;
}

std::string errors_of(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kError)
      out += finding.rule + " line " + std::to_string(finding.line) + ": " + finding.message + "\n";
  }
  return out;
}

// Every field of the source is in the output, or named as lost; every other field of the output is named or a default.
void check_accounting(const Source& source, const Conversion& conversion, const std::string& where) {
  const EffectiveRun before = effective_run(source.input);
  const auto want = flat_fields(before.run), got = flat_fields(conversion.effective);
  for (const auto& [field, value] : want) {
    const auto found = got.find(field);
    if (same_meaning(field, value, found == got.end() ? "" : found->second)) continue;
    for (const Origin* origin : before.of(field)) {
      const bool listed = std::any_of(conversion.dropped.begin(), conversion.dropped.end(),
                                      [&](const Dropped& one) { return one.line == origin->line; });
      EXPECT_TRUE(listed) << where << ": " << field << " = " << value << " is lost without a word (" << origin->key
                          << ")";
    }
  }
}

TEST(Convert, EveryPairGivesAFileThatPassesAndAccountsForEachSetting) {
  int pairs = 0;
  for (const Source& source : page_sources()) {
    for (const Target& target : targets()) {
      const std::string where = source.where + " to " + std::string(target.alias);
      const auto result = convert_run(source.input, target, {});
      if (!result || !result->converted) continue;
      ++pairs;
      const Input output = read_input(result->text, "", source.input.context);
      EXPECT_EQ(to_string(output.format), to_string(target.format)) << where << "\n" << result->text;
      EXPECT_EQ(errors_of(validate(output)), "") << where << "\n" << result->text;
      check_accounting(source, *result, where);
    }
  }
  EXPECT_GT(pairs, 500);
}

// "field: a -> b" for every field that two runs do not share.
std::string difference(const Effective& a, const Effective& b) {
  const auto left = flat_fields(a), right = flat_fields(b);
  std::string out;
  for (const FieldInfo& info : effective_fields()) {
    for (const auto* side : {&left, &right}) {
      for (const auto& [field, value] : *side) {
        if (field != info.name && field.rfind(info.name + ".", 0) != 0) continue;
        const std::string l = left.count(field) != 0 ? left.at(field) : "",
                          r = right.count(field) != 0 ? right.at(field) : "";
        if (l != r) out += field + ": " + l + " -> " + r + "\n";
      }
    }
  }
  return out;
}

// A caller who hands over an output also knows how many ranks it is for.
Input again(const Source& source, const Conversion& conversion) {
  Context context = source.input.context;
  if (const auto world = conversion.effective.world_size) {
    context.nodes = conversion.effective.nodes.value_or(source.input.context.nodes.value_or(1));
    context.gpus = *world / *context.nodes;
  }
  return read_input(conversion.text, "", std::move(context));
}

TEST(Convert, ASecondTimeChangesNothing) {
  for (const Source& source : page_sources()) {
    for (const Target& target : targets()) {
      const std::string where = source.where + " to " + std::string(target.alias);
      const auto first = convert_run(source.input, target, {});
      if (!first || !first->converted) continue;
      const auto second = convert_run(again(source, *first), target, {});
      ASSERT_TRUE(second && second->converted) << where << "\n" << first->text;
      EXPECT_EQ(difference(first->effective, second->effective), "") << where << "\n" << first->text;
      EXPECT_TRUE(second->dropped.empty()) << where << ": " << (second->dropped.empty() ? "" : second->dropped[0].key);
    }
  }
}

bool is_dropped(const Conversion& conversion, const Input& input, const std::string& field) {
  const EffectiveRun run = effective_run(input);
  for (const Origin* origin : run.of(field)) {
    for (const Dropped& one : conversion.dropped) {
      if (one.line == origin->line && one.key == origin->key) return true;
    }
  }
  return false;
}

// There and back again: what the other format could say is as it was.
TEST(Convert, RoundTripsKeepTheRun) {
  for (const Source& source : page_sources()) {
    const Target* home = find_target(to_string(source.input.format));
    if (home == nullptr) continue;
    const auto want = flat_fields(effective_run(source.input).run);
    for (const Target& target : targets()) {
      const std::string where = source.where + " over " + std::string(target.alias);
      const auto there = convert_run(source.input, target, {});
      if (!there || !there->converted) continue;
      const auto back = convert_run(again(source, *there), *home, {});
      ASSERT_TRUE(back && back->converted) << where << "\n" << there->text;
      const auto middle = flat_fields(there->effective), got = flat_fields(back->effective);
      for (const auto& [field, value] : want) {
        const auto found = middle.find(field);
        if (found == middle.end() || found->second != value) continue;  // accounted for on the way there
        if (is_dropped(*back, again(source, *there), field)) continue;  // or on the way back
        EXPECT_EQ(got.count(field) != 0 ? got.at(field) : "", value) << where << ": " << field << "\n" << there->text;
      }
    }
  }
}

}  // namespace
}  // namespace fx::knowledge
