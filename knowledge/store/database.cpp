#include "knowledge/store/database.h"

#include <sqlite3.h>

#include <utility>

namespace fx::knowledge {
namespace {

Error database_error(sqlite3* handle, int code, const std::string& doing) {
  const std::string message = doing + ": " + (handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return unavailable(message, "another process holds the database; try again");
    case SQLITE_FULL:
      return unavailable(message, "free disk space");
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return unavailable(message, "check that the data folder exists and can be written");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return unavailable(message, "the file is damaged; move it away and start again");
    default:
      return internal_error(message);
  }
}

std::string escape_uri(const std::string& path) {
  std::string out = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      constexpr char kHex[] = "0123456789abcdef";
      out += '%';
      out += kHex[(static_cast<unsigned char>(c) >> 4) & 0xf];
      out += kHex[static_cast<unsigned char>(c) & 0xf];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}
void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Statement& Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), index, text.data() != nullptr ? text.data() : "", text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
  return *this;
}

Statement& Statement::bind(int index, double value) {
  sqlite3_bind_double(statement_.get(), index, value);
  return *this;
}

Statement& Statement::bind_null(int index) {
  sqlite3_bind_null(statement_.get(), index);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_error(sqlite3_db_handle(statement_.get()), code, "database");
}

Result<void> Statement::run() {
  while (true) {
    const auto more = step();
    if (!more) {
      Error error = more.error();
      reset();
      return error;
    }
    if (!*more) break;
  }
  reset();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return data == nullptr ? ""
                         : std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Result<Database> Database::open(const std::filesystem::path& path, const DatabaseOptions& options) {
  const bool read_only = options.read_only || options.immutable;
  std::string name = escape_uri(path.string());
  if (options.immutable) name += "?immutable=1";
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                    (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) return database_error(raw, code, path.string());
  sqlite3_busy_timeout(raw, static_cast<int>(options.busy_timeout.count()));
  if (!read_only) {
    const std::string journal = options.wal ? "WAL" : "MEMORY";
    if (auto set =
            database.execute("PRAGMA journal_mode=" + journal + "; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;");
        !set) {
      return set.error();
    }
  }
  return database;
}

Result<Database> Database::in_memory() {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) return database_error(raw, code, "database in memory");
  return database;
}

Result<void> Database::execute(const std::string& sql) {
  char* message = nullptr;
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, &message);
  sqlite3_free(message);
  if (code != SQLITE_OK) return database_error(handle_.get(), code, "database");
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  Statement statement(raw);
  if (code != SQLITE_OK) return database_error(handle_.get(), code, "database");
  return statement;
}

std::int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(handle_.get());
}
std::int64_t Database::changes() const {
  return sqlite3_changes(handle_.get());
}

Result<std::int64_t> Database::user_version() {
  auto statement = prepare("PRAGMA user_version");
  if (!statement) return statement.error();
  const auto row = statement->step();
  if (!row) return row.error();
  return statement->integer(0);
}

Result<void> Database::migrate(std::span<const std::string_view> steps) {
  const auto count = static_cast<std::int64_t>(steps.size());
  while (true) {
    auto transaction = Transaction::begin(*this);
    if (!transaction) return transaction.error();
    const auto version = user_version();  // read under the lock: another process may have been faster
    if (!version) return version.error();
    if (*version == count) return transaction->commit();
    if (*version > count) {
      return unsupported("",
                         "the database has schema version " + std::to_string(*version) + ", this program knows " +
                             std::to_string(count),
                         "use the newer program, or another data folder");
    }
    const auto index = static_cast<std::size_t>(*version);
    if (auto done = execute(std::string(steps[index])); !done) return done.error();
    if (auto done = execute("PRAGMA user_version=" + std::to_string(index + 1)); !done) return done.error();
    if (auto done = transaction->commit(); !done) return done.error();
  }
}

Result<Transaction> Transaction::begin(Database& database) {
  if (auto begun = database.execute("BEGIN IMMEDIATE"); !begun) return begun.error();
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  if (database_ == nullptr) return;
  const auto ignored = database_->execute("ROLLBACK");
  static_cast<void>(ignored);
}

Result<void> Transaction::commit() {
  auto done = database_->execute("COMMIT");
  if (done) database_ = nullptr;
  return done;
}

}  // namespace fx::knowledge
