#include "knowledge/store/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "base/text.h"
#include "knowledge/store/build.h"
#include "knowledge/store/database.h"

namespace fx::knowledge {
namespace {

constexpr std::array<EmbeddedFile, 1> kFacts = {{{"facts.jsonl", R"({"stop_words":["the","is","怎么"]}
{"synonyms":{"显存":"gpu memory","hukommelse":"memory"}}
{"topic":"training","cues":{"fsdp":2,"gpu":1,"gpus":1,"显存":2,"hukommelse":1,"wrapping":1}}
{"topic":"elsewhere.cooking","cues":{"bread":5}}
{"id":"memory.offload","title":"CPU offload saves GPU memory","text":"fsdp_offload_params moves parameters to the host.","source":{"doc":"a"},"questions":["out of memory on the gpu"]}
{"id":"wrap.blocks","title":"Shard each block, then the root","text":"Wrapping order matters.","source":{"repo":"a/b"},"contradicted_by":["wrap.root"]}
{"id":"wrap.root","title":"Shard only the root","text":"One group gathers everything.","source":{"repo":"a/c"},"contradicted_by":["wrap.blocks"]}
{"id":"elsewhere.cooking","scope":"elsewhere","title":"Not applicable: cooking","text":"See a cook book.","source":{"doc":"a"}}
)"}}};
constexpr std::array<EmbeddedFile, 1> kRules = {
    {{"some-rule.md",
      "---\nid: some-rule\ntitle: Wrap class not found\nsources: a/b\n---\n## What\nThe class is not in the model.\n## "
      "Fix\nName it exactly.\n"}}};

Content content() {
  return {kFacts, kRules, {}};
}

std::filesystem::path fresh_folder(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / ("fx_store_" + name + std::to_string(::getpid()));
  std::filesystem::remove_all(path);
  return path;
}

TEST(Store, BuildsTheFileOnceAndFindsWhatIsAsked) {
  const auto folder = fresh_folder("build");
  {
    Store store(folder, content());
    EXPECT_FALSE(std::filesystem::exists(folder));
    EXPECT_TRUE(*store.open());
    const auto answer = store.search("fsdp: gpu out of memory", 5);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->applicable);
    ASSERT_FALSE(answer->facts.empty());
    EXPECT_EQ(answer->facts[0].id, "memory.offload");
    EXPECT_EQ(answer->facts[0].source, R"({"doc":"a"})");
  }
  const auto written = std::filesystem::last_write_time(folder / "knowledge.db");
  Store again(folder, content());
  EXPECT_TRUE(*again.open());
  EXPECT_EQ(std::filesystem::last_write_time(folder / "knowledge.db"), written);
  std::filesystem::remove_all(folder);
}

TEST(Store, FindsIdentifiersMisspellingsChineseAndDanish) {
  Store store("/proc/nowhere", content());
  for (const char* query : {"--fsdp-offload-params", "fsdp_ofload_params", "fsdp显存怎么不够", "fsdp hukommelse"}) {
    const auto answer = store.search(query, 1);
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->facts.size(), 1u) << query;
    EXPECT_EQ(answer->facts[0].id, "memory.offload") << query;
  }
}

TEST(Store, TellsWhatItIsNotFor) {
  Store store("/proc/nowhere", content());
  const auto answer = store.search("how is bread baked on a gpu", 3);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->applicable);
  ASSERT_EQ(answer->facts.size(), 1u);
  EXPECT_EQ(answer->facts[0].id, "elsewhere.cooking");
}

TEST(Store, LivesInMemoryWhenTheFolderCannotBeWritten) {
  Store store("/proc/nowhere", content());
  const auto on_disk = store.open();
  ASSERT_TRUE(on_disk);
  EXPECT_FALSE(*on_disk);
  EXPECT_EQ(store.ids()->size(), 5u);
}

TEST(Store, RebuildsADamagedFileAndAnotherSchemaOrText) {
  const auto folder = fresh_folder("rebuild");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "knowledge.db") << "this is no database";
  EXPECT_TRUE(*Store(folder, content()).open());
  {
    auto database = Database::open(folder / "knowledge.db", {.read_only = false, .immutable = false, .wal = false});
    ASSERT_TRUE(database);
    EXPECT_EQ(*database->user_version(), kSchemaVersion);
    ASSERT_TRUE(database->execute("DELETE FROM meta; PRAGMA user_version=999"));
  }
  EXPECT_TRUE(Store(folder, content()).find("wrap.root"));
  Store other(folder, {kFacts, {}, {}});
  EXPECT_FALSE(other.find("some-rule"));
  std::filesystem::remove_all(folder);
}

TEST(Store, ManyProcessesMayBuildAtOnce) {
  const auto folder = fresh_folder("race");
  std::array<pid_t, 6> children{};
  for (auto& child : children) {
    child = ::fork();
    if (child == 0) {
      Store store(folder, content());
      const auto opened = store.open();
      const auto fact = store.find("memory.offload");
      ::_exit(opened && *opened && fact ? 0 : 1);
    }
  }
  for (const auto child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 1);
  std::filesystem::remove_all(folder);
}

TEST(Store, NamesTheNearestIds) {
  Store store("/proc/nowhere", content());
  const auto missing = store.find("wrap.rot");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().hint.find("wrap.root"), std::string::npos);
  const auto page = store.find("some-rule");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->kind, "rule");
  EXPECT_NE(page->body.find("## Fix"), std::string::npos);
}

TEST(Store, AnswersAnyBytes) {
  Store store("/proc/nowhere", content());
  for (const auto& query : {std::string(), std::string(1, '\0'), std::string("\" OR NEAR(*) ^ col: - + {"),
                            std::string("\xff\xfe\xc3"), std::string(100000, 'x'), std::string("fsdp AND NOT")}) {
    EXPECT_TRUE(store.search(query, 3)) << quote_input(query);
  }
}

TEST(ParseFacts, ReportsEveryMistakeWithItsLine) {
  const auto rows =
      parse_facts("f.jsonl", "{\"id\":\"a\",\"title\":\"t\",\"text\":\"x\"}\nnot json\n{\"id\":\"b\",\"colour\":1}\n");
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().details.front().field, "f.jsonl:1");
  EXPECT_GE(rows.error().details.size(), 4u);
}

}  // namespace
}  // namespace fx::knowledge
