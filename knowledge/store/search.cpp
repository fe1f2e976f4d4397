#include "knowledge/store/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "knowledge/store/terms.h"

namespace fx::knowledge {
namespace {

// Measured on the question set: own words count most, words brought in by synonyms and spelling less; a question that
// somebody would ask finds its fact better than the fact's text does.
constexpr double kExpansionWeight = 0.55;
constexpr double kDocumentWeight = 1.0;
constexpr double kQuestionWeight = 1.1;
constexpr double kPageWeight = 0.8;        // a rule or cause page against a fact
constexpr double kFamiliarQuestion = 2.5;  // the question is one that a row lists, word by word
constexpr std::size_t kStemLength = 5;     // words that start alike count as the same word when questions are compared
constexpr double kMinimumTrainingCue = 1.0;
constexpr std::size_t kMaxTerms = 64;

struct Query {
  std::string phrase;                // folded, for synonyms and cues
  std::vector<std::string> own;      // the user's words
  std::vector<std::string> brought;  // synonyms and corrected spelling
};

template <class Read>
Result<void> each_row(Database& database, const char* sql, Read read) {
  auto statement = database.prepare(sql);
  if (!statement) return statement.error();
  while (true) {
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return {};
    read(*statement);
  }
}

Result<std::set<std::string>> column_set(Database& database, const char* sql) {
  std::set<std::string> out;
  auto done = each_row(database, sql, [&](const Statement& row) { out.insert(row.text(0)); });
  if (!done) return done.error();
  return out;
}

// The known word a slip of the pen was meant to be, or "".
std::string corrected(const std::string& word, const std::set<std::string>& words) {
  if (word.size() < 5 || words.contains(word) || static_cast<unsigned char>(word[0]) >= 0x80) return "";
  const std::size_t limit = word.size() < 6 ? 1 : 2;
  std::string best;
  std::size_t best_distance = limit + 1;
  for (auto it = words.lower_bound(word.substr(0, 1)); it != words.end() && (*it)[0] == word[0]; ++it) {
    if (it->size() + limit < word.size() || it->size() > word.size() + limit) continue;
    const std::size_t distance = edit_distance(word, *it, limit);
    if (distance < best_distance) best = *it, best_distance = distance;
  }
  return best;
}

void append_new(std::vector<std::string>& to, const std::vector<std::string>& from, std::set<std::string>& seen) {
  for (const auto& word : from) {
    if (to.size() < kMaxTerms && seen.insert(word).second) to.push_back(word);
  }
}

// Latin phrases match whole words, CJK phrases anywhere.
bool says(const std::string& question, const std::string& phrase) {
  const bool cjk = phrase.size() > 1 && static_cast<unsigned char>(phrase[1]) >= 0x80;
  return cjk ? contains(question, trim(phrase)) : contains(question, phrase);
}

Query read_query(const WordLists& lists, std::string_view text) {
  Query query;
  query.phrase = fold_phrase(text);
  std::set<std::string> seen(lists.stop_words);
  append_new(query.own, terms(text), seen);
  for (const auto& word : query.own) {
    const std::string known = corrected(word, lists.words);
    if (known.empty()) continue;
    append_new(query.brought, {known}, seen);
    query.phrase += known + " ";
  }
  for (const auto& [phrase, expansion] : lists.synonyms) {
    if (says(query.phrase, phrase)) append_new(query.brought, terms(expansion), seen);
  }
  return query;
}

// FTS5 text for "any of these": quoted, so that no character of a query is an operator.
std::string any_of(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const auto& word : words) quoted.push_back("\"" + word + "\"");
  return join(quoted, " OR ");
}

using Scores = std::unordered_map<std::int64_t, double>;

Result<void> add_scores(Database& database, const char* sql, const std::vector<std::string>& words, double weight,
                        Scores& scores) {
  if (words.empty()) return {};
  auto statement = database.prepare(sql);
  if (!statement) return statement.error();
  statement->bind(1, any_of(words));
  while (true) {
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return {};
    scores[statement->integer(0)] += weight * -statement->real(1);
  }
}

struct Ranked {
  std::int64_t id;
  double score;
  std::string key, scope, kind;
  std::string question;  // terms of the listed question that is nearest
};

struct BestQuestion {
  double score = 0;
  std::string terms;
};

Result<std::vector<Ranked>> rank(Database& database, const Query& query) {
  constexpr const char* kDocuments =
      "SELECT rowid, bm25(document_index, 2.5, 1.0, 1.5) FROM document_index WHERE document_index MATCH ?1";
  constexpr const char* kQuestions =
      "SELECT rowid, bm25(question_index) FROM question_index WHERE question_index MATCH ?1";
  Scores documents, questions;
  for (const bool own : {true, false}) {
    const auto& words = own ? query.own : query.brought;
    const double weight = own ? 1.0 : kExpansionWeight;
    if (auto done = add_scores(database, kDocuments, words, weight, documents); !done) return done.error();
    if (auto done = add_scores(database, kQuestions, words, weight, questions); !done) return done.error();
  }
  std::unordered_map<std::int64_t, BestQuestion> best_question;
  auto owner = database.prepare("SELECT document, terms FROM questions WHERE id = ?1");
  if (!owner) return owner.error();
  for (const auto& [id, score] : questions) {
    const auto row = owner->bind(1, id).step();
    if (!row) return row.error();
    if (*row) {
      auto& best = best_question[owner->integer(0)];
      if (score > best.score) best = {score, owner->text(1)};
    }
    owner->reset();
  }
  std::vector<Ranked> out;
  for (const auto& [id, best] : best_question) documents.try_emplace(id, 0.0);
  auto about = database.prepare("SELECT key, scope, kind FROM documents WHERE id = ?1");
  if (!about) return about.error();
  for (const auto& [id, score] : documents) {
    const auto row = about->bind(1, id).step();
    if (!row) return row.error();
    if (*row) {
      const auto& best = best_question[id];
      double total = kDocumentWeight * score + kQuestionWeight * best.score;
      if (about->text(2) != "fact") total *= kPageWeight;
      out.push_back({id, total, about->text(0), about->text(1), about->text(2), best.terms});
    }
    about->reset();
  }
  std::sort(out.begin(), out.end(),
            [](const Ranked& a, const Ranked& b) { return a.score != b.score ? a.score > b.score : a.id < b.id; });
  return out;
}

struct Scope {
  bool applicable = true;
  std::string elsewhere;  // key of the row that tells where to go
};

// How much of the user's question a listed question covers, 0 to 1. One common word is no evidence.
double familiarity(const std::vector<std::string>& own, const std::string& question) {
  std::set<std::string> known;
  for (const auto word : split(question, ' ')) known.emplace(word.substr(0, kStemLength));
  std::size_t matched = 0, letters = 0;
  for (const auto& word : own) {
    if (!known.contains(word.substr(0, kStemLength))) continue;
    ++matched;
    letters += word.size();
  }
  if (own.empty() || letters < 8) return 0;
  const double share = static_cast<double>(matched) / static_cast<double>(own.size());
  return share < 0.5 ? 0 : share;
}

// Sums what the question's phrases say for us and for each other topic. Content decides, not one word: "fsdp" in a
// question about faster text generation does not make it a training question.
Scope decide_scope(const WordLists& lists, const Query& query, const std::vector<Ranked>& ranked) {
  std::map<std::string, double> topics;
  for (const auto& cue : lists.cues) {
    if (says(query.phrase, cue.phrase)) topics[cue.topic] += cue.weight;
  }
  double familiar = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(ranked.size(), 5); ++i) {
    const double evidence = kFamiliarQuestion * familiarity(query.own, ranked[i].question);
    if (ranked[i].scope == "elsewhere") {
      topics[ranked[i].key] += evidence;
    } else {
      familiar = std::max(familiar, evidence);
    }
  }
  const double training = topics["training"] + familiar;
  topics.erase("training");
  Scope scope;
  double best = 0;
  for (const auto& [topic, weight] : topics) {
    if (weight > best) best = weight, scope.elsewhere = topic;
  }
  scope.applicable = training >= kMinimumTrainingCue && training >= best;
  if (!scope.applicable && scope.elsewhere.empty()) scope.elsewhere = "elsewhere.general";
  return scope;
}

}  // namespace

Result<WordLists> read_word_lists(Database& database) {
  WordLists lists;
  auto stop = column_set(database, "SELECT word FROM stop_words");
  if (!stop) return stop.error();
  lists.stop_words = std::move(*stop);
  auto words = column_set(database, "SELECT word FROM words");
  if (!words) return words.error();
  lists.words = std::move(*words);
  auto done = each_row(database, "SELECT phrase, expansion FROM synonyms", [&](const Statement& row) {
    lists.synonyms.push_back({row.text(0), row.text(1)});
  });
  if (!done) return done.error();
  done = each_row(database, "SELECT topic, phrase, weight FROM cues", [&](const Statement& row) {
    lists.cues.push_back({row.text(0), row.text(1), row.real(2)});
  });
  if (!done) return done.error();
  return lists;
}

Result<Hits> search_documents(Database& database, const WordLists& lists, std::string_view text, std::size_t limit,
                              std::string_view) {
  const auto query = read_query(lists, text.substr(0, 2000));
  const auto ranked = rank(database, query);
  if (!ranked) return ranked.error();
  const auto scope = decide_scope(lists, query, *ranked);
  Hits hits;
  hits.applicable = scope.applicable;
  if (!scope.applicable) {
    auto statement = database.prepare("SELECT id FROM documents WHERE key = ?1");
    if (!statement) return statement.error();
    const auto row = statement->bind(1, scope.elsewhere).step();
    if (!row) return row.error();
    if (*row) hits.documents.push_back(statement->integer(0));
  }
  for (const auto& item : *ranked) {
    if (hits.documents.size() >= limit) break;
    if ((item.scope == "elsewhere") == scope.applicable) continue;
    if (std::find(hits.documents.begin(), hits.documents.end(), item.id) == hits.documents.end())
      hits.documents.push_back(item.id);
  }
  return hits;
}

}  // namespace fx::knowledge
