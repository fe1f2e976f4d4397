#include "knowledge/store/database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace fx::knowledge {
namespace {

std::filesystem::path fresh_file(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / ("fx_" + name + std::to_string(::getpid()) + ".db");
  for (const char* tail : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + tail);
  return path;
}

TEST(Database, KeepsValuesAndTellsRowsFromTheEnd) {
  auto database = Database::in_memory();
  ASSERT_TRUE(database);
  ASSERT_TRUE(database->execute("CREATE TABLE t(a TEXT, b INTEGER, c REAL)"));
  auto insert = database->prepare("INSERT INTO t VALUES(?1, ?2, ?3)");
  ASSERT_TRUE(insert);
  ASSERT_TRUE(insert->bind(1, "x\0y").bind(2, std::int64_t{7}).bind(3, 0.5).run());
  EXPECT_EQ(database->last_insert_id(), 1);
  auto select = database->prepare("SELECT a, b, c, NULL FROM t");
  ASSERT_TRUE(select);
  ASSERT_TRUE(*select->step());
  EXPECT_EQ(select->text(0), "x");
  EXPECT_EQ(select->integer(1), 7);
  EXPECT_DOUBLE_EQ(select->real(2), 0.5);
  EXPECT_TRUE(select->is_null(3));
  EXPECT_FALSE(*select->step());
}

TEST(Database, RollsBackWhatWasNotCommitted) {
  auto database = Database::in_memory();
  ASSERT_TRUE(database->execute("CREATE TABLE t(a)"));
  {
    auto transaction = Transaction::begin(*database);
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(database->execute("INSERT INTO t VALUES(1)"));
  }
  auto count = database->prepare("SELECT count(*) FROM t");
  ASSERT_TRUE(*count->step());
  EXPECT_EQ(count->integer(0), 0);
}

TEST(Database, MigratesStepByStepAndRefusesANewerFile) {
  const auto path = fresh_file("migrate");
  constexpr std::array<std::string_view, 2> kSteps = {"CREATE TABLE a(x)", "ALTER TABLE a ADD COLUMN y"};
  {
    auto database = Database::open(path);
    ASSERT_TRUE(database) << database.error().message;
    ASSERT_TRUE(database->migrate(std::span(kSteps).first(1)));
    EXPECT_EQ(*database->user_version(), 1);
  }
  auto again = Database::open(path);
  ASSERT_TRUE(again->migrate(kSteps));
  EXPECT_EQ(*again->user_version(), 2);
  ASSERT_TRUE(again->execute("INSERT INTO a(x, y) VALUES(1, 2)"));
  EXPECT_EQ(again->migrate(std::span(kSteps).first(1)).error().code, ErrorCode::kUnsupported);
}

TEST(Database, ReportsABadStatementAndAMissingFolder) {
  auto database = Database::in_memory();
  EXPECT_EQ(database->execute("SELECT nonsense").error().code, ErrorCode::kInternal);
  EXPECT_EQ(Database::open("/nonexistent/folder/x.db").error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace fx::knowledge
