#include "knowledge/log/mark.h"

#include <algorithm>
#include <stdexcept>

#include "base/text.h"

namespace fx::knowledge {

Glob parse_glob(std::string_view alternative) {
  Glob out;
  const auto pieces = split(trim(alternative), '*');
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].empty()) continue;
    std::string piece(pieces[i]);
    if (i + 1 == pieces.size() && piece.size() > 1 && piece.back() == '_') piece.back() = ' ';
    if (i == 0 && piece.size() > 1 && piece[0] == '_' && piece[1] >= '0' && piece[1] <= '9') piece[0] = ' ';
    out.push_back(std::move(piece));
  }
  return out;
}

bool matches(const Glob& glob, std::string_view low) {
  std::size_t at = 0;
  for (const auto& piece : glob) {
    const auto found = low.find(piece, at);
    if (found == std::string_view::npos) return false;
    at = found + piece.size();
  }
  return !glob.empty();
}

bool matches_any(std::string_view pattern, std::string_view low) {
  for (const auto alternative : split(pattern, '|')) {
    if (matches(parse_glob(alternative), low)) return true;
  }
  return false;
}

void MarkTable::add(const std::string& group, const std::vector<Mark>& marks) {
  for (const auto& mark : marks) {
    const auto id = static_cast<std::uint32_t>(names_.size());
    names_.push_back(group + "/" + mark.name);
    for (const auto alternative : split(mark.pattern, '|')) {
      Glob glob = parse_glob(alternative);
      if (glob.empty()) throw std::invalid_argument("empty alternative in mark " + names_.back());
      alternatives_.push_back({id, std::move(glob)});
    }
  }
}

void MarkTable::compile() {
  std::vector<std::string> phrases;
  for (const auto& alternative : alternatives_) {
    // The longest piece is the rarest one.
    phrases.push_back(*std::max_element(alternative.glob.begin(), alternative.glob.end(),
                                        [](const auto& a, const auto& b) { return a.size() < b.size(); }));
  }
  scanner_.clear();
  scanner_.emplace_back(phrases);
}

std::size_t MarkTable::index(std::string_view group, std::string_view name) const {
  const std::string full = std::string(group) + "/" + std::string(name);
  const auto it = std::find(names_.begin(), names_.end(), full);
  if (it == names_.end()) throw std::invalid_argument("no mark " + full);
  return static_cast<std::size_t>(it - names_.begin());
}

void MarkTable::find(std::string_view line, std::string_view low_or_empty, std::vector<std::uint32_t>& out) const {
  std::string made;
  std::string_view low = low_or_empty;
  const std::size_t before = out.size();
  scanner_.front().scan(line, [&](std::uint32_t phrase) {
    const auto& alternative = alternatives_[phrase];
    if (std::find(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), alternative.mark) != out.end()) return;
    if (alternative.glob.size() > 1) {
      if (low.empty()) low = made = to_lower(line);
      if (!matches(alternative.glob, low)) return;
    }
    out.push_back(alternative.mark);
  });
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
}

}  // namespace fx::knowledge
