// Ranking: what a question means in terms of the index, which rows answer it, and whether it is ours at all.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/store/database.h"
#include "knowledge/store/fact.h"

namespace fx::knowledge {

struct Hits {
  bool applicable = true;
  std::vector<std::int64_t> documents;  // row ids, best first
};

// The word lists of a database, read once: every question needs them. Phrases are folded (terms.h).
struct WordLists {
  std::set<std::string> stop_words;
  std::set<std::string> words;  // every term of the index
  std::vector<Synonym> synonyms;
  std::vector<Cue> cues;
};

Result<WordLists> read_word_lists(Database& database);

// query: any bytes; only its first 2,000 count. language: hint, may be empty.
Result<Hits> search_documents(Database& database, const WordLists& lists, std::string_view query, std::size_t limit,
                              std::string_view language);

}  // namespace fx::knowledge
