// The text that is compiled into the program and loaded into the store: facts, rule pages, cause pages.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace fx::knowledge {

struct Content {
  std::span<const EmbeddedFile> facts;                 // *.jsonl of knowledge/facts (shape: its README)
  std::span<const EmbeddedFile> rule_pages;            // <rule_id>.md
  std::span<const EmbeddedFile> cause_pages;           // <cause_id>.md
  std::span<const EmbeddedFile> code_rule_pages = {};  // <rule_id>.md of rules about code
};

Content embedded_content();

}  // namespace fx::knowledge
