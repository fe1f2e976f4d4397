#include "knowledge/store/build.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "knowledge/store/page.h"
#include "knowledge/store/terms.h"
#include "spec/json.h"

namespace fx::knowledge {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, scope TEXT NOT NULL, row TEXT NOT NULL);
CREATE TABLE questions(id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents(id), terms TEXT NOT NULL);
CREATE TABLE words(word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stop_words(word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE synonyms(phrase TEXT NOT NULL, expansion TEXT NOT NULL);
CREATE TABLE cues(topic TEXT NOT NULL, phrase TEXT NOT NULL, weight REAL NOT NULL);
CREATE VIRTUAL TABLE document_index USING fts5(title, text, tags, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE question_index USING fts5(question, content='', tokenize='porter unicode61');
)";

std::string shortened(const std::string& text, std::size_t bytes) {
  return text.size() <= bytes ? text : quote_input(text, bytes);
}

// What and fix of a rule; what, first step and next steps of a cause.
Result<Fact> page_to_fact(const EmbeddedFile& file, const std::string& kind) {
  const auto page = parse_page(file.text);
  if (!page) return internal_error(std::string(file.path) + " " + page.error().field + ": " + page.error().message);
  Fact fact;
  fact.kind = kind;
  fact.id = page->id;
  fact.title = page->title;
  fact.body = std::string(file.text);
  for (const char* section : {"what", "why", "fix", "first step", "next steps"}) {
    const std::string text = page->section(section);
    if (!text.empty()) fact.text += (fact.text.empty() ? "" : " ") + text;
  }
  fact.text = shortened(replace_all(fact.text, "\n", " "), 700);
  Json source;
  source["doc"] = join(page->sources, "; ");
  source["page"] = std::string(kind == "rule" ? "rules/" : "causes/") + page->id + ".md";
  fact.source = to_text(source);
  fact.tags = {kind, page->id};
  if (const std::string shows = page->section("shows"); !shows.empty()) fact.questions.push_back(shortened(shows, 400));
  return fact;
}

std::uint64_t mix(std::uint64_t hash, std::string_view bytes) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return (hash ^ 0xff) * 0x100000001b3ULL;
}

Json fact_row(const Fact& fact) {
  Json row;
  row["title"] = fact.title;
  row["text"] = fact.text;
  if (!fact.body.empty()) row["body"] = fact.body;
  row["source"] = Json::parse(fact.source);
  row["language"] = fact.language;
  row["tags"] = fact.tags;
  row["contradicted_by"] = fact.contradicted_by;
  row["questions"] = fact.questions;
  return row;
}

// Fills tables with one prepared statement each.
class Filler {
 public:
  explicit Filler(Database& database) : database_(database) {}

  Result<void> fill(const FactFile& rows) {
    for (const auto& [sql, run] : steps(rows)) {
      auto statement = database_.prepare(sql);
      if (!statement) return statement.error();
      if (auto done = run(*statement); !done) return done;
    }
    return fill_words();
  }

 private:
  using Step = std::pair<const char*, std::function<Result<void>(Statement&)>>;

  template <class Rows, class Bind>
  static std::function<Result<void>(Statement&)> each(const Rows& rows, Bind bind) {
    return [&rows, bind](Statement& statement) -> Result<void> {
      std::int64_t id = 0;
      for (const auto& row : rows) {
        bind(statement, row, ++id);
        if (auto done = statement.run(); !done) return done;
      }
      return {};
    };
  }

  std::vector<Step> steps(const FactFile& rows) {
    for (std::size_t i = 0; i < rows.facts.size(); ++i) {
      for (const auto& question : rows.facts[i].questions) questions_.emplace_back(i + 1, indexed(question));
      questions_.emplace_back(i + 1, indexed(rows.facts[i].title));
    }
    return {
        {"INSERT INTO documents VALUES(?1, ?2, ?3, ?4, ?5)",
         each(rows.facts,
              [](Statement& s, const Fact& f, std::int64_t id) {
                s.bind(1, id).bind(2, f.id).bind(3, f.kind).bind(4, f.scope).bind(5, to_text(fact_row(f)));
              })},
        {"INSERT INTO document_index(rowid, title, text, tags) VALUES(?1, ?2, ?3, ?4)",
         each(rows.facts,
              [this](Statement& s, const Fact& f, std::int64_t id) {
                s.bind(1, id)
                    .bind(2, indexed(f.title))
                    .bind(3, indexed(f.text))
                    .bind(4, indexed(f.id + " " + join(f.tags, " ")));
              })},
        {"INSERT INTO questions VALUES(?1, ?2, ?3)",
         each(questions_,
              [](Statement& s, const auto& q, std::int64_t id) {
                s.bind(1, id).bind(2, static_cast<std::int64_t>(q.first)).bind(3, q.second);
              })},
        {"INSERT INTO question_index(rowid, question) VALUES(?1, ?2)",
         each(questions_, [](Statement& s, const auto& q, std::int64_t id) { s.bind(1, id).bind(2, q.second); })},
        {"INSERT INTO synonyms VALUES(?1, ?2)", each(rows.synonyms,
                                                     [this](Statement& s, const Synonym& w, std::int64_t) {
                                                       for (const auto& word : terms(w.phrase)) words_.insert(word);
                                                       s.bind(1, fold_phrase(w.phrase)).bind(2, w.expansion);
                                                     })},
        {"INSERT INTO cues VALUES(?1, ?2, ?3)",
         each(rows.cues,
              [this](Statement& s, const Cue& c, std::int64_t) {
                for (const auto& word : terms(c.phrase)) words_.insert(word);
                s.bind(1, c.topic).bind(2, fold_phrase(c.phrase)).bind(3, c.weight);
              })},
        {"INSERT OR IGNORE INTO stop_words VALUES(?1)",
         each(rows.stop_words,
              [](Statement& s, const std::string& w, std::int64_t) { s.bind(1, trim(fold_phrase(w))); })},
    };
  }

  std::string indexed(const std::string& text) {
    const auto list = terms(text);
    words_.insert(list.begin(), list.end());
    return join(list, " ");
  }

  Result<void> fill_words() {
    auto statement = database_.prepare("INSERT INTO words VALUES(?1)");
    if (!statement) return statement.error();
    for (const auto& word : words_) {
      if (auto done = statement->bind(1, word).run(); !done) return done;
    }
    return {};
  }

  Database& database_;
  std::set<std::string> words_;
  std::vector<std::pair<std::size_t, std::string>> questions_;
};

}  // namespace

std::string content_hash(const Content& content) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const auto files : {content.facts, content.rule_pages, content.cause_pages, content.code_rule_pages}) {
    for (const auto& file : files) hash = mix(mix(hash, file.path), file.text);
  }
  return std::to_string(hash);
}

Result<FactFile> read_content(const Content& content) {
  FactFile all;
  std::vector<Error> errors;
  for (const auto& file : content.facts) {
    auto rows = parse_facts(file.path, file.text);
    if (!rows) {
      errors.push_back(rows.error());
      continue;
    }
    const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(all.facts, rows->facts);
    append(all.synonyms, rows->synonyms);
    append(all.cues, rows->cues);
    append(all.stop_words, rows->stop_words);
  }
  const auto add_pages = [&](std::span<const EmbeddedFile> pages, const std::string& kind) {
    for (const auto& file : pages) {
      auto fact = page_to_fact(file, kind);
      fact ? all.facts.push_back(std::move(*fact)) : errors.push_back(fact.error());
    }
  };
  add_pages(content.rule_pages, "rule");
  add_pages(content.cause_pages, "cause");
  add_pages(content.code_rule_pages, "rule");
  if (!errors.empty()) {
    Error error = combine(std::move(errors));
    error.code = ErrorCode::kInternal;
    return error;
  }
  return all;
}

Result<void> build_database(Database& database, const Content& content) {
  const auto rows = read_content(content);
  if (!rows) return rows.error();
  auto transaction = Transaction::begin(database);
  if (!transaction) return transaction.error();
  if (auto done = database.execute(kTables); !done) return done;
  if (auto done = Filler(database).fill(*rows); !done) return done;
  const std::string sql = "INSERT INTO meta VALUES('content_hash', '" + content_hash(content) +
                          "'); PRAGMA user_version=" + std::to_string(kSchemaVersion);
  if (auto done = database.execute(sql); !done) return done;
  return transaction->commit();
}

}  // namespace fx::knowledge
