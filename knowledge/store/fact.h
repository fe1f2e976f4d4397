// A row of the knowledge base, and the word lists that help to find it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fx::knowledge {

struct Fact {
  std::string id;    // stable: [a-z0-9.-]
  std::string kind;  // "fact", "rule" or "cause"
  std::string title;
  std::string text;    // for a page: what and fix, shortened
  std::string body;    // for a page: the whole Markdown
  std::string source;  // a JSON object: repo or doc, and version, commit, path, lines, generation as known
  std::string language = "en";
  std::string scope = "answer";  // "elsewhere": says what this program is not for and where to go
  std::vector<std::string> tags;
  std::vector<std::string> contradicted_by;  // ids; both sides name each other
  std::vector<std::string> questions;        // paraphrases people use
};

// Words in any language that stand for others: "显存" -> "gpu memory".
struct Synonym {
  std::string phrase;
  std::string expansion;
};

// A phrase that speaks for a topic. Topic "training" is ours; any other names a fact with scope "elsewhere".
struct Cue {
  std::string topic;
  std::string phrase;
  double weight = 1;
};

struct FactFile {
  std::vector<Fact> facts;
  std::vector<Synonym> synonyms;
  std::vector<Cue> cues;
  std::vector<std::string> stop_words;
};

// JSON lines: a fact, {"synonyms": {phrase: expansion}}, {"topic": id, "cues": {phrase: weight}} or {"stop_words":
// [..]} a line. Errors name "path:line" and every mistake.
Result<FactFile> parse_facts(std::string_view path, std::string_view text);

}  // namespace fx::knowledge
