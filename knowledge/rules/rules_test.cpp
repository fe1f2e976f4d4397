// Every page is a test of its rule: the bad examples hit it on their lines, the good ones do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "knowledge/rules/rule.h"
#include "knowledge/rules/validate.h"
#include "knowledge/store/page.h"

namespace fx::knowledge {
namespace {

struct PageFile {
  std::string path;
  Page page;
};

std::vector<PageFile> pages() {
  std::vector<PageFile> out;
  for (const EmbeddedFile& file : embedded::rule_pages()) {
    auto page = parse_page(file.text);
    EXPECT_TRUE(page) << file.path << ": " << (page ? "" : page.error().message);
    if (page) out.push_back({std::string(file.path), std::move(page.value())});
  }
  return out;
}

Context context_of(const Example& example) {
  Context context;
  const auto found = example.expect.find("context");
  if (found == example.expect.end()) return context;
  const Document json = read_json(found->second);
  EXPECT_FALSE(json.error) << found->second;
  context.gpus = integer_of(json.root.find("gpus"));
  context.nodes = integer_of(json.root.find("nodes"));
  context.gpu = text_of(json.root.find("gpu"));
  if (const Node* model = json.root.find("model")) context.model = *model;
  if (const Node* versions = json.root.find("versions")) {
    for (const Node& version : versions->children) context.versions[version.name] = version.text;
  }
  return context;
}

std::set<std::string> names(const std::string& list) {
  std::set<std::string> out;
  for (const auto name : split(list, ',')) {
    if (!trim(name).empty()) out.insert(std::string(trim(name)));
  }
  return out;
}

std::string expectation(const Example& example, const std::string& key) {
  const auto found = example.expect.find(key);
  return found == example.expect.end() ? "" : found->second;
}

std::vector<Finding> run(const Example& example) {
  return validate(read_input(example.text, expectation(example, "file"), context_of(example)));
}

void check_bad(const Page& page, const Example& example, const std::string& where) {
  std::multiset<int> want, got;
  for (const auto& line : names(expectation(example, "line"))) want.insert(std::stoi(line));
  const auto also = names(expectation(example, "also"));
  for (const Finding& finding : run(example)) {
    if (finding.rule == page.id) {
      got.insert(finding.line);
      EXPECT_FALSE(finding.message.empty()) << where;
      EXPECT_FALSE(finding.fix.empty()) << where;
    } else {
      EXPECT_TRUE(also.count(finding.rule) != 0)
          << where << ": also hits " << finding.rule << " on line " << finding.line;
    }
  }
  EXPECT_EQ(got, want) << where;
}

void check_good(const Page& page, const Example& example, const std::string& where) {
  const auto also = names(expectation(example, "also"));
  for (const Finding& finding : run(example)) {
    EXPECT_NE(finding.rule, page.id) << where << ": line " << finding.line;
    const bool loud = finding.severity == Severity::kError && also.count(finding.rule) == 0;
    EXPECT_FALSE(loud) << where << ": a good example with the error " << finding.rule;
  }
}

TEST(RulePages, ExamplesHitTheirRuleOnTheirLine) {
  for (const auto& [path, page] : pages()) {
    int bad = 0, good = 0;
    for (const Example& example : page.examples) {
      const std::string where = path + ":" + std::to_string(example.line);
      if (example.kind == "bad") {
        ++bad;
        check_bad(page, example, where);
      } else if (example.kind == "good") {
        ++good;
        check_good(page, example, where);
      }
    }
    EXPECT_GT(bad, 0) << path << " has no bad example";
    EXPECT_GT(good, 0) << path << " has no good example";
  }
}

TEST(RulePages, EveryRuleHasItsPageAndEveryPageItsRule) {
  std::map<std::string, const Rule*> rules;
  for (const Rule& rule : all_rules())
    EXPECT_TRUE(rules.emplace(rule.id, &rule).second) << rule.id << " is listed twice";
  std::set<std::string> seen;
  for (const auto& [path, page] : pages()) {
    seen.insert(page.id);
    EXPECT_TRUE(rules.count(page.id) != 0) << path << " has no rule";
    const auto slash = path.rfind('/');
    EXPECT_EQ(path.substr(slash + 1), page.id + ".md");
    if (rules.count(page.id) != 0) {
      EXPECT_EQ(page.front.at("severity"), to_string(rules.at(page.id)->severity)) << path;
    }
    for (const char* section : {"what", "why", "fix"})
      EXPECT_FALSE(page.section(section).empty()) << path << " " << section;
    EXPECT_FALSE(page.sources.empty()) << path;
  }
  for (const auto& [id, rule] : rules) EXPECT_TRUE(seen.count(id) != 0) << id << " has no page";
}

}  // namespace
}  // namespace fx::knowledge
