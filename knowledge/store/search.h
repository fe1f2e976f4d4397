// Ranking: what a question means in terms of the index, which rows answer it, and whether it is ours at all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "knowledge/store/database.h"

namespace fx::knowledge {

struct Hits {
  bool applicable = true;
  std::vector<std::int64_t> documents;  // row ids, best first
};

// query: any bytes; only its first 2,000 count. language: hint, may be empty.
Result<Hits> search_documents(Database& database, std::string_view query, std::size_t limit, std::string_view language);

}  // namespace fx::knowledge
