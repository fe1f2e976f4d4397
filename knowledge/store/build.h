// Fills an empty database with facts and pages, and the indexes that search reads.
#pragma once

#include <string>
#include <vector>

#include "knowledge/content.h"
#include "knowledge/store/database.h"
#include "knowledge/store/fact.h"

namespace fx::knowledge {

inline constexpr int kSchemaVersion = 2;  // raise it with every change of tables, terms or what is put in

// Of every embedded byte: tells a file that was built from other text.
std::string content_hash(const Content& content);

// The rows of a content. A text that cannot be read is our own fault: kInternal with every mistake.
Result<FactFile> read_content(const Content& content);

// Creates the tables, fills them, sets user_version and the hash. The database must be empty.
Result<void> build_database(Database& database, const Content& content);

}  // namespace fx::knowledge
