// Every page is a test of its rule: the bad examples hit it on their lines, the good ones do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "knowledge/rules/page_testing.h"
#include "knowledge/rules/rule.h"
#include "knowledge/rules/validate.h"

namespace fx::knowledge {
namespace {

std::set<std::string> names(const std::string& list) {
  std::set<std::string> out;
  for (const auto name : split(list, ',')) {
    if (!trim(name).empty()) out.insert(std::string(trim(name)));
  }
  return out;
}

std::vector<Finding> run(const Example& example) {
  return validate(input_of(example));
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
  for (const auto& [path, page] : rule_page_files()) {
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
  for (const auto& [path, page] : rule_page_files()) {
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

TEST(Heredocs, AreJudgedAtTheirOwnLines) {
  const Input input = read_input(
      "#!/bin/bash\n#SBATCH --gpus-per-node=8\ncat > fsdp.yaml <<EOF\ndistributed_type: fsdp\nnum_processes: $N\n"
      "mixed_precision: $P\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nEOF\n"
      "accelerate launch --config_file fsdp.yaml train.py\n",
      "job.sh", {});
  EXPECT_EQ(input.format, kSbatchScript);
  const auto findings = validate(input);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].rule, "accelerate-invalid-distributed-type");
  EXPECT_EQ(findings[0].line, 4);
  for (const Finding& finding : findings) EXPECT_NE(finding.line, 6) << "a variable's value is the running shell's";
}

}  // namespace
}  // namespace fx::knowledge
