// Replacements of byte ranges, and how lines and columns map to bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/patch.h"

namespace fx::knowledge {

struct Span {
  std::size_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
};

struct Splice {
  Span span;
  std::string text;
};
using Splices = std::vector<Splice>;

// Two insertions at one place do not overlap: the first given comes first.
bool overlap(const Splices& a, const Splices& b);
// Takes them in any order; they must not overlap.
std::string spliced(std::string_view text, Splices splices);

class TextMap {
 public:
  explicit TextMap(std::string_view text);
  // line and column in bytes, both from 1, as readers count them (a byte order mark is skipped); nullopt past the end.
  std::optional<std::size_t> offset(int line, int column) const;
  Patch to_patch(Splices splices) const;
  int column_in_characters(int line, int column) const;
  Span line_at(std::size_t offset) const;  // without its line end
  std::string_view line_end() const { return crlf_ ? "\r\n" : "\n"; }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
  bool crlf_ = false;
};

}  // namespace fx::knowledge
