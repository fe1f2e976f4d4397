// Every page is a test of its rule: a bad example gives exactly the findings it states, a good one gives none.
#include <gtest/gtest.h>

#include <algorithm>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "knowledge/code_rules/config_comparison.h"
#include "knowledge/code_rules/review.h"
#include "knowledge/code_rules/rule.h"
#include "knowledge/store/page.h"
#include "spec/json.h"

namespace fx::knowledge {
namespace {

struct PageFile {
  std::string path;
  Page page;
};

std::vector<PageFile> pages() {
  std::vector<PageFile> out;
  for (const EmbeddedFile& file : embedded::code_rule_pages()) {
    auto page = parse_page(file.text);
    EXPECT_TRUE(page) << file.path << ": " << (page ? "" : page.error().message);
    if (page) out.push_back({std::string(file.path), std::move(page.value())});
  }
  return out;
}

// "# file: name.py" lines split an example into the files of one request.
std::vector<code::InputFile> files_of(const Example& example) {
  constexpr std::string_view kMark = "# file: ";
  std::vector<code::InputFile> files;
  for (const std::string_view line : split(example.text, '\n')) {
    if (line.substr(0, kMark.size()) == kMark) {
      files.push_back({std::string(line.substr(kMark.size())), ""});
      continue;
    }
    if (files.empty()) files.push_back({"train.py", ""});
    files.back().text += std::string(line) + "\n";
  }
  return files;
}

std::string expectation(const Example& example, const std::string& key) {
  const auto found = example.expect.find(key);
  return found == example.expect.end() ? "" : found->second;
}

code::ReviewContext context_of(const Example& example) {
  code::ReviewContext context;
  const std::string text = expectation(example, "context");
  if (text.empty()) return context;
  const auto json = parse_json(text);
  EXPECT_TRUE(json) << text;
  if (!json) return context;
  context.torch_version = json->value("torch_version", "");
  const std::string size = json->value("world", "");
  const auto world = split(size, 'x');
  if (world.size() == 2) {
    context.nodes = to_integer(world[0]);
    context.gpus_per_node = to_integer(world[1]);
  }
  return context;
}

std::string place(std::string_view rule, std::string_view where) {
  const bool named = where.find(':') != std::string_view::npos;
  return std::string(rule) + "@" + (named ? "" : "train.py:") + std::string(where);
}

// "rule@file:line", as the fence states them and as the review finds them.
std::multiset<std::string> wanted(const Page& page, const Example& example) {
  std::multiset<std::string> out;
  const std::string lines = expectation(example, "line"), others = expectation(example, "also");
  for (const auto where : split(lines, ',')) {
    if (!where.empty()) out.insert(place(page.id, where));
  }
  for (const auto other : split(others, ',')) {
    const auto at = other.find('@');
    if (at != std::string_view::npos) out.insert(place(other.substr(0, at), other.substr(at + 1)));
  }
  return out;
}

std::multiset<std::string> found(const Example& example) {
  std::multiset<std::string> out;
  const CodeReview review = review_code(files_of(example), context_of(example));
  EXPECT_TRUE(review.applicable);
  EXPECT_TRUE(review.broken_files.empty());
  for (const Finding& finding : review.findings) {
    out.insert(finding.rule + "@" + finding.file + ":" + std::to_string(finding.line));
    EXPECT_FALSE(finding.message.empty());
    EXPECT_FALSE(finding.fix.empty());
    EXPECT_FALSE(finding.sources.empty());
  }
  return out;
}

bool needs_config(std::string_view id) {
  return std::ranges::find(config_rule_ids(), id) != config_rule_ids().end();
}

TEST(CodeRulePages, ExamplesGiveExactlyTheFindingsTheyState) {
  for (const auto& [path, page] : pages()) {
    if (needs_config(page.id)) continue;
    int bad = 0, good = 0;
    for (const Example& example : page.examples) {
      EXPECT_EQ(found(example), wanted(page, example)) << path << ":" << example.line << " (" << example.kind << ")";
      ++(example.kind == "bad" ? bad : good);
      EXPECT_EQ(example.kind == "bad", example.expect.count("line") == 1) << path << ":" << example.line;
    }
    EXPECT_GE(bad, 2) << path;
    EXPECT_GE(good, 2) << path;
  }
}

TEST(CodeRulePages, EveryRuleHasItsPageAndEveryPageItsRule) {
  std::map<std::string, const CodeRule*> rules;
  for (const CodeRule& rule : code_rules())
    EXPECT_TRUE(rules.emplace(rule.id, &rule).second) << rule.id << " is listed twice";
  std::set<std::string> seen;
  for (const auto& [path, page] : pages()) {
    seen.insert(page.id);
    EXPECT_EQ(path, page.id + ".md");
    if (needs_config(page.id)) continue;
    ASSERT_TRUE(rules.count(page.id) != 0) << path << " has no rule";
    EXPECT_EQ(page.front.at("severity"), to_string(rules.at(page.id)->severity)) << path;
    for (const char* section : {"what", "why", "fix"})
      EXPECT_FALSE(page.section(section).empty()) << path << " " << section;
    EXPECT_FALSE(page.sources.empty()) << path;
  }
  for (const auto& [id, rule] : rules) EXPECT_TRUE(seen.count(id) != 0) << id << " has no page";
}

}  // namespace
}  // namespace fx::knowledge
