// SQLite, the only place that names it: connection, statements, transactions, schema steps. All values are owned,
// errors travel as Result (kUnavailable: busy, full, unreadable; kInternal: a wrong statement of ours).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fx::knowledge {

// A prepared statement. Must not outlive its Database. Not safe to share between threads.
class Statement {
 public:
  Statement(Statement&&) noexcept = default;
  Statement& operator=(Statement&&) noexcept = default;

  // Parameters count from 1, as in SQL ("?1"). Text is copied.
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, double value);
  Statement& bind_null(int index);

  // True: a row is ready. False: done. After false or an error call reset() before another round.
  Result<bool> step();
  Result<void> run();  // steps to the end, drops rows, resets
  void reset();        // also forgets the parameters

  // Columns count from 0; valid until the next step().
  std::string text(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

struct DatabaseOptions {
  bool read_only = false;
  bool immutable = false;  // read-only, and nobody ever writes this file in place: no locks are taken
  bool wal = true;         // write-ahead log: readers and one writer at once, also of several processes
  std::chrono::milliseconds busy_timeout{5000};  // how long a writer waits for another one
};

// One connection. Calls from several threads need a lock of the caller's.
class Database {
 public:
  static Result<Database> open(const std::filesystem::path& path, const DatabaseOptions& options = {});
  static Result<Database> in_memory();

  Result<void> execute(const std::string& sql);  // one or more statements without parameters
  Result<Statement> prepare(std::string_view sql);
  std::int64_t last_insert_id() const;
  std::int64_t changes() const;  // rows changed by the last statement

  // Runs the steps this file has not seen yet, each in a transaction of its own, and counts them in user_version.
  // A file that is newer than the program (more steps than given) is kUnsupported.
  Result<void> migrate(std::span<const std::string_view> steps);
  Result<std::int64_t> user_version();

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}
  std::unique_ptr<sqlite3, Close> handle_;
};

// BEGIN IMMEDIATE now, ROLLBACK at the end of the scope unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace fx::knowledge
