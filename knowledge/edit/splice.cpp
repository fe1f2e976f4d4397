#include "knowledge/edit/splice.h"

#include <algorithm>

namespace fx::knowledge {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u;
}

void sort(Splices& splices) {
  std::stable_sort(splices.begin(), splices.end(), [](const Splice& a, const Splice& b) {
    return a.span.begin != b.span.begin ? a.span.begin < b.span.begin : a.span.end < b.span.end;
  });
}

int characters(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

}  // namespace

bool overlap(const Splices& a, const Splices& b) {
  for (const Splice& x : a) {
    for (const Splice& y : b) {
      if (x.span.empty() && y.span.empty()) continue;
      if (x.span.begin < y.span.end && y.span.begin < x.span.end) return true;
      // An insertion strictly inside, or at the front of, what another one takes away has lost its neighbour.
      if (x.span.empty() && x.span.begin >= y.span.begin && x.span.begin < y.span.end) return true;
      if (y.span.empty() && y.span.begin >= x.span.begin && y.span.begin < x.span.end) return true;
    }
  }
  return false;
}

std::string spliced(std::string_view text, Splices splices) {
  sort(splices);
  std::string out;
  std::size_t at = 0;
  for (const Splice& splice : splices) {
    out += text.substr(at, splice.span.begin - at);
    out += splice.text;
    at = splice.span.end;
  }
  return out += text.substr(at);
}

TextMap::TextMap(std::string_view text) : text_(text) {
  starts_.push_back(text.substr(0, 3) == "\xEF\xBB\xBF" ? 3 : 0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts_.push_back(i + 1);
  }
  const auto first = text.find('\n');
  crlf_ = first != std::string_view::npos && first > 0 && text[first - 1] == '\r';
}

std::optional<std::size_t> TextMap::offset(int line, int column) const {
  if (line < 1 || column < 1 || static_cast<std::size_t>(line) > starts_.size()) return std::nullopt;
  const std::size_t at = starts_[static_cast<std::size_t>(line - 1)] + static_cast<std::size_t>(column - 1);
  const std::size_t end =
      static_cast<std::size_t>(line) < starts_.size() ? starts_[static_cast<std::size_t>(line)] : text_.size();
  return at <= end ? std::optional<std::size_t>(at) : std::nullopt;
}

Patch TextMap::to_patch(Splices splices) const {
  sort(splices);
  const auto place = [&](std::size_t at, int& line, int& column) {
    const auto next = std::upper_bound(starts_.begin() + 1, starts_.end(), at);
    line = static_cast<int>(next - starts_.begin());
    const std::size_t start = starts_[static_cast<std::size_t>(line - 1)];
    column = at <= start ? 1 : characters(text_.substr(start, at - start)) + 1;
  };
  Patch patch;
  for (Splice& splice : splices) {
    Edit edit;
    place(splice.span.begin, edit.start_line, edit.start_column);
    place(splice.span.end, edit.end_line, edit.end_column);
    edit.replacement = std::move(splice.text);
    patch.push_back(std::move(edit));
  }
  return patch;
}

int TextMap::column_in_characters(int line, int column) const {
  const auto at = offset(line, column);
  if (!at) return column;
  const std::size_t start = starts_[static_cast<std::size_t>(line - 1)];
  return characters(text_.substr(start, *at - start)) + 1;
}

Span TextMap::line_at(std::size_t offset) const {
  const auto next = std::upper_bound(starts_.begin() + 1, starts_.end(), offset);
  Span span{*(next - 1), next == starts_.end() ? text_.size() : *next - 1};
  if (span.end > span.begin && text_[span.end - 1] == '\r') --span.end;
  return span;
}

}  // namespace fx::knowledge
