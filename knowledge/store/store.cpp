#include "knowledge/store/store.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "knowledge/store/build.h"
#include "knowledge/store/database.h"
#include "knowledge/store/search.h"
#include "spec/json.h"

namespace fx::knowledge {
namespace {

constexpr const char* kFileName = "knowledge.db";

// The file, if it was built from this content by this schema.
Result<Database> open_current(const std::filesystem::path& path, const std::string& hash) {
  DatabaseOptions options;
  options.immutable = true;
  auto database = Database::open(path, options);
  if (!database) return database.error();
  const auto version = database->user_version();
  if (!version) return version.error();
  if (*version != kSchemaVersion) return unavailable("another schema version");
  auto statement = database->prepare("SELECT value FROM meta WHERE key = 'content_hash'");
  if (!statement) return statement.error();
  const auto row = statement->step();
  if (!row) return row.error();
  if (!*row || statement->text(0) != hash) return unavailable("built from other text");
  return database;
}

// Builds beside the final name and renames, so that every reader sees a whole file.
Result<void> build_file(const std::filesystem::path& folder, const Content& content) {
  static std::atomic<unsigned> counter{0};
  if (auto made = make_folder(folder); !made) return made;
  const auto temporary =
      folder / (std::string(kFileName) + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".tmp");
  std::error_code ignored;
  Result<void> done;
  {
    DatabaseOptions options;
    options.wal = false;
    auto database = Database::open(temporary, options);
    done = database ? build_database(*database, content) : Result<void>(database.error());
  }
  if (done) {
    std::error_code failed;
    std::filesystem::rename(temporary, folder / kFileName, failed);
    if (failed) done = unavailable("cannot rename " + temporary.string() + ": " + failed.message());
  }
  if (!done) std::filesystem::remove(temporary, ignored);
  return done;
}

Result<Fact> read_fact(Database& database, std::int64_t id) {
  auto statement = database.prepare("SELECT key, kind, scope, row FROM documents WHERE id = ?1");
  if (!statement) return statement.error();
  const auto row = statement->bind(1, id).step();
  if (!row) return row.error();
  if (!*row) return internal_error("the index names a missing row");
  const auto json = parse_json(statement->text(3));
  if (!json) return internal_error("a stored row cannot be read");
  Fact fact;
  fact.id = statement->text(0);
  fact.kind = statement->text(1);
  fact.scope = statement->text(2);
  fact.title = json->value("title", "");
  fact.text = json->value("text", "");
  fact.body = json->value("body", "");
  fact.source = to_text((*json)["source"]);
  fact.language = json->value("language", "en");
  fact.tags = json->value("tags", std::vector<std::string>{});
  fact.contradicted_by = json->value("contradicted_by", std::vector<std::string>{});
  fact.questions = json->value("questions", std::vector<std::string>{});
  return fact;
}

}  // namespace

Store::Store(std::filesystem::path folder, Content content) : folder_(std::move(folder)), content_(content) {}
Store::~Store() = default;

// Called with the lock held.
Result<Database*> Store::ready() {
  if (database_ != nullptr) return database_.get();
  const std::string hash = content_hash(content_);
  auto database = open_current(folder_ / kFileName, hash);
  if (!database && build_file(folder_, content_)) database = open_current(folder_ / kFileName, hash);
  on_disk_ = database.has_value();
  if (!database) {
    database = Database::in_memory();
    if (!database) return database.error();
    if (auto built = build_database(*database, content_); !built) return built.error();
  }
  database_ = std::make_unique<Database>(std::move(*database));
  return database_.get();
}

Result<bool> Store::open() {
  const std::lock_guard lock(mutex_);
  if (auto database = ready(); !database) return database.error();
  return on_disk_;
}

Result<SearchAnswer> Store::search(std::string_view query, std::size_t limit, std::string_view language) {
  const std::lock_guard lock(mutex_);
  const auto database = ready();
  if (!database) return database.error();
  if (lists_ == nullptr) {
    auto lists = read_word_lists(**database);
    if (!lists) return lists.error();
    lists_ = std::make_unique<WordLists>(std::move(*lists));
  }
  const auto hits = search_documents(**database, *lists_, query, std::clamp<std::size_t>(limit, 1, 50), language);
  if (!hits) return hits.error();
  SearchAnswer answer;
  answer.applicable = hits->applicable;
  for (const auto id : hits->documents) {
    auto fact = read_fact(**database, id);
    if (!fact) return fact.error();
    answer.facts.push_back(std::move(*fact));
  }
  return answer;
}

Result<std::vector<std::string>> Store::ids() {
  const std::lock_guard lock(mutex_);
  const auto database = ready();
  if (!database) return database.error();
  auto statement = (*database)->prepare("SELECT key FROM documents ORDER BY id");
  if (!statement) return statement.error();
  std::vector<std::string> out;
  while (true) {
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return out;
    out.push_back(statement->text(0));
  }
}

Result<Fact> Store::find(std::string_view id) {
  {
    const std::lock_guard lock(mutex_);
    const auto database = ready();
    if (!database) return database.error();
    auto statement = (*database)->prepare("SELECT id FROM documents WHERE key = ?1");
    if (!statement) return statement.error();
    const auto row = statement->bind(1, id).step();
    if (!row) return row.error();
    if (*row) return read_fact(**database, statement->integer(0));
  }
  const std::string shown = quote_input(id, 80);
  std::vector<std::string> near;
  const auto all = ids();
  if (all) {
    if (const auto slip = nearest(shown, *all)) near.push_back(*slip);
  }
  const auto found = search(id, 3);
  if (found && found->applicable) {
    for (const auto& fact : found->facts) {
      if (std::find(near.begin(), near.end(), fact.id) == near.end()) near.push_back(fact.id);
    }
  }
  const std::string hint = near.empty() ? "search_knowledge finds ids by words" : "nearest ids: " + join(near, ", ");
  return not_found("no fact, rule or cause has the id \"" + shown + "\"", hint);
}

}  // namespace fx::knowledge
