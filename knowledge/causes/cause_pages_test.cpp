// Every page is the test of its cause: its "yes" examples must give it, its "other" examples must not.
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "knowledge/causes/catalogue.h"
#include "knowledge/causes/diagnose.h"
#include "spec/json.h"

namespace fx::knowledge {
namespace {

Diagnosis diagnose_example(const Example& example) {
  JobConfig config;
  if (const auto it = example.expect.find("config"); it != example.expect.end()) {
    const auto json = parse_json(it->second);
    EXPECT_TRUE(json) << it->second;
    if (json) {
      for (const auto& [key, value] : json->items())
        config[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  const std::array<NamedLog, 1> logs{NamedLog{"", example.text}};
  return diagnose(logs, config);
}

std::string top(const Diagnosis& diagnosis) {
  return diagnosis.causes.empty() ? std::string(to_string(diagnosis.verdict)) : diagnosis.causes.front().id;
}

std::string ranking(const Diagnosis& diagnosis) {
  std::string out;
  for (const auto& cause : diagnosis.causes) out += cause.id + " " + std::to_string(cause.confidence) + "; ";
  return out;
}

void check_yes(const Page& page, const Example& example) {
  const auto where = page.id + ".md:" + std::to_string(example.line);
  const Diagnosis got = diagnose_example(example);
  EXPECT_EQ(top(got), page.id) << where << " " << ranking(got);
  if (top(got) != page.id) return;
  const auto& cause = got.causes.front();
  if (const auto it = example.expect.find("rank"); it != example.expect.end()) {
    EXPECT_EQ(cause.root_rank.value_or(-1), std::stoi(it->second)) << where;
  }
  if (const auto it = example.expect.find("line"); it != example.expect.end()) {
    std::set<int> lines;
    for (const auto& line : cause.evidence) lines.insert(line.line);
    EXPECT_EQ(lines.count(std::stoi(it->second)), 1U) << where;
  }
  EXPECT_FALSE(cause.evidence.empty()) << where;
}

TEST(CausePages, GiveTheirCauseOnTheirOwnExamples) {
  for (const auto& rule : cause_rules()) {
    const Page& page = cause_page(rule.id);
    int yes = 0, other = 0;
    for (const auto& example : page.examples) {
      if (example.kind == "yes") ++yes, check_yes(page, example);
      if (example.kind == "other") {
        ++other;
        EXPECT_NE(top(diagnose_example(example)), page.id) << page.id << ".md:" << example.line;
      }
    }
    EXPECT_GE(yes, 1) << page.id;
    EXPECT_GE(other, 1) << page.id << " needs a near miss";
  }
}

TEST(CausePages, HaveEverySection) {
  for (const auto& rule : cause_rules()) {
    const Page& page = cause_page(rule.id);
    EXPECT_FALSE(page.title.empty()) << rule.id;
    EXPECT_FALSE(page.sources.empty()) << rule.id;
    for (const char* section : {"what", "shows", "look-alikes", "first step", "next steps", "prevention"}) {
      EXPECT_FALSE(trim(page.section(section)).empty()) << rule.id << ": " << section;
    }
  }
}

TEST(Config, SpeaksForOrAgainstACause) {
  const std::array<NamedLog, 1> logs{
      NamedLog{"", "step 10: h2d 4.1 s, optimizer 14.0 s, forward 1.0 s, backward 2.0 s, cpu_offload\ntorchrun\n"}};
  EXPECT_EQ(top(diagnose(logs, {})), "throughput-offload-bound");
  EXPECT_NE(top(diagnose(logs, {{"cpu_offload", "false"}})), "throughput-offload-bound");
  const std::array<NamedLog, 1> save{
      NamedLog{"", "[rank0]: RuntimeError: No backend type associated with device type cpu\n"}};
  const double without = diagnose(save, {}).causes.front().confidence;
  EXPECT_GT(diagnose(save, {{"fsdp_offload_params", "true"}}).causes.front().confidence, without);
  EXPECT_LT(diagnose(save, {{"fsdp_offload_params", "false"}}).causes.front().confidence, without);
}

TEST(CausePages, AreListedOnce) {
  std::set<std::string> ids;
  for (const auto& rule : cause_rules()) EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
}

}  // namespace
}  // namespace fx::knowledge
