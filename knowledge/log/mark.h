// A mark: a named shape of a log line that a cause or an event reader looks for. All marks of the program are searched
// in one pass; only lines that carry a mark (or stand close to a failure) are kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/log/phrase_scan.h"

namespace fx::knowledge {

// Pattern: alternatives separated by '|', each a row of pieces separated by '*' that must follow each other in the
// line. Lower case; blanks at the ends of an alternative do not count: '_' at its end, or before a digit at its start,
// stands for one. ("_orig_mod." is a name.)
struct Mark {
  const char* name;
  const char* pattern;
};

using Glob = std::vector<std::string>;
Glob parse_glob(std::string_view alternative);
// low is the line in lower case.
bool matches(const Glob& glob, std::string_view low);
// True when one of the pattern's alternatives matches.
bool matches_any(std::string_view pattern, std::string_view low);

// All marks of one program, compiled. A mark is known by its group ("core" or a cause id) and its name.
class MarkTable {
 public:
  void add(const std::string& group, const std::vector<Mark>& marks);
  void compile();  // after the last add

  std::size_t size() const { return names_.size(); }
  // Throws when there is no such mark: a slip in a predicate.
  std::size_t index(std::string_view group, std::string_view name) const;
  // Appends the indices of the marks in this line (sorted, unique).
  void find(std::string_view line, std::string_view low_or_empty, std::vector<std::uint32_t>& out) const;

 private:
  struct Alternative {
    std::uint32_t mark = 0;
    Glob glob;
  };
  std::vector<std::string> names_;
  std::vector<Alternative> alternatives_;
  std::vector<PhraseScanner> scanner_;  // one, once compiled
};

}  // namespace fx::knowledge
