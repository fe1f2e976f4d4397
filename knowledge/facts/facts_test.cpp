// The rows that are shipped: what every fact must have, whatever it says.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"
#include "knowledge/content.h"
#include "knowledge/store/build.h"
#include "knowledge/store/store.h"

namespace fx::knowledge {
namespace {

const FactFile& rows() {
  static const FactFile file = [] {
    auto read = read_content(embedded_content());
    if (!read) throw std::runtime_error(to_line(read.error()));
    return std::move(*read);
  }();
  return file;
}

TEST(Facts, HaveUniqueIdsTitlesAndSources) {
  std::set<std::string> seen;
  for (const auto& fact : rows().facts) {
    EXPECT_TRUE(seen.insert(fact.id).second) << fact.id;
    EXPECT_FALSE(trim(fact.title).empty()) << fact.id;
    EXPECT_GT(fact.source.size(), 10u) << fact.id;
    if (fact.kind == "fact") {
      EXPECT_LE(fact.title.size() + fact.text.size(), 700u) << fact.id;
      EXPECT_FALSE(fact.questions.empty()) << fact.id;
    }
  }
  EXPECT_GE(seen.size(), 100u);
}

TEST(Facts, ContradictionsNameEachOther) {
  std::map<std::string, const Fact*> by_id;
  for (const auto& fact : rows().facts) by_id[fact.id] = &fact;
  int links = 0;
  for (const auto& fact : rows().facts) {
    for (const auto& other : fact.contradicted_by) {
      ++links;
      ASSERT_TRUE(by_id.contains(other)) << fact.id << " -> " << other;
      const auto& back = by_id[other]->contradicted_by;
      EXPECT_NE(std::find(back.begin(), back.end(), fact.id), back.end()) << fact.id << " -> " << other;
    }
  }
  EXPECT_GE(links, 12);
}

TEST(Facts, EveryTopicHasARowThatTellsWhereToGo) {
  std::set<std::string> elsewhere;
  for (const auto& fact : rows().facts) {
    if (fact.scope == "elsewhere") elsewhere.insert(fact.id);
  }
  for (const auto& cue : rows().cues) {
    EXPECT_TRUE(cue.topic == "training" || elsewhere.contains(cue.topic)) << cue.topic << " " << cue.phrase;
  }
}

// Knowledge is read by agents: no row may look like an order to one, or carry hidden characters.
TEST(Facts, HoldNoOrdersToAnAgentAndNoHiddenCharacters) {
  for (const auto& fact : rows().facts) {
    const std::string text = to_lower(fact.title + " " + fact.text);
    for (const char* phrase :
         {"ignore previous", "ignore all", "you must", "you are an", "system prompt", "do not tell", "as an ai", "<!--",
          "reveal", "disregard", "act as", "curl http", "rm -rf", "chmod"}) {
      EXPECT_EQ(text.find(phrase), std::string::npos) << fact.id << ": " << phrase;
    }
    for (const char* hidden : {"\u200b", "\u200d", "\u202e", "\ufeff"})
      EXPECT_EQ(text.find(hidden), std::string::npos) << fact.id;
  }
}

TEST(Facts, AnswerTheirOwnQuestions) {
  Store store("/proc/nowhere", embedded_content());
  int asked = 0, found = 0;
  for (const auto& fact : rows().facts) {
    if (fact.kind != "fact") continue;
    for (const auto& question : fact.questions) {
      const auto answer = store.search(question, 3);
      ASSERT_TRUE(answer) << fact.id;
      ++asked;
      for (const auto& hit : answer->facts) found += hit.id == fact.id;
    }
  }
  EXPECT_GE(found, asked * 95 / 100) << found << " of " << asked;
}

}  // namespace
}  // namespace fx::knowledge
