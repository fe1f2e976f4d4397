// The knowledge base: facts, rule pages and cause pages in one SQLite file, built from the program's own text at first
// use.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/content.h"
#include "knowledge/store/fact.h"

namespace fx::knowledge {

class Database;
struct WordLists;

struct SearchAnswer {
  bool applicable = true;   // false: the question is not about sharded training; the first fact says where to go
  std::vector<Fact> facts;  // best first
};

// Opens lazily: constructing costs nothing. <folder>/knowledge.db is made or replaced (write, then rename) when it is
// missing, damaged, or built from other text or another schema; several processes may do so at once. When the folder
// cannot be written the same database lives in memory. Safe to call from several threads.
class Store {
 public:
  Store(std::filesystem::path folder, Content content);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // query: any bytes. limit: 1 to 50. language: a hint such as "da" or "zh"; may be empty.
  Result<SearchAnswer> search(std::string_view query, std::size_t limit, std::string_view language = {});
  // Errors: kNotFound, the hint names the nearest ids.
  Result<Fact> find(std::string_view id);
  // Every id, in the order of the files.
  Result<std::vector<std::string>> ids();
  // Opens now; true when the file in the folder is used, false when the database is in memory.
  Result<bool> open();

 private:
  Result<Database*> ready();
  std::filesystem::path folder_;
  Content content_;
  std::mutex mutex_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<WordLists> lists_;  // read with the first search
  bool on_disk_ = false;
};

}  // namespace fx::knowledge
