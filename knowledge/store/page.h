// The Markdown page of a rule or a cause: what explain serves and what the test suite runs.
//
//   ---
//   id: accelerate-unknown-top-key
//   title: Unknown key at the top level
//   severity: error                      (rules)
//   formats: accelerate-yaml, ...        (rules)
//   sources: huggingface/accelerate:src/...; run: accelerate 1.15.0
//   ---
//   ## What    ## Why    ## Fix          (causes: ## What ## Shows ## Look-alikes ## First step ## Next steps ##
//   Prevention)
//   ```yaml bad line=3 context={"gpus":8}     fenced examples: language, kind, expectations
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.h"
#include "base/result.h"

namespace fx::knowledge {

struct Example {
  std::string language;                       // "yaml", "sh", "log", ...
  std::string kind;                           // "bad", "good", ...
  std::map<std::string, std::string> expect;  // the rest of the fence line: key=value
  std::string text;
  int line = 0;  // of the fence in the page
};

struct Page {
  std::string id;
  std::string title;
  std::map<std::string, std::string> front;     // every front-matter field
  std::map<std::string, std::string> sections;  // heading in lower case -> text, fenced examples left out
  std::vector<std::string> sources;             // split at ';'
  std::vector<Example> examples;

  std::string section(const std::string& name) const;  // "" when absent
};

// Errors name the line. A page must have front matter with an id.
Result<Page> parse_page(std::string_view text);

// The page in a file named <id>.md; an empty page with that id if there is none.
Page find_page(std::span<const EmbeddedFile> files, std::string_view id);

// A section's lines as one.
std::string one_line(std::string_view section);

// Lines of a section that are list items ("- " or "1. "), or its sentences as one item.
std::vector<std::string> list_items(const std::string& section);

}  // namespace fx::knowledge
