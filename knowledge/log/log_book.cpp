#include "knowledge/log/log_book.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace fx::knowledge {

std::set<int> LogBook::ranks_of(const std::vector<int>& indices) const {
  std::set<int> out;
  for (const int index : indices) {
    if (at(index).rank >= 0) out.insert(at(index).rank);
  }
  return out;
}

bool LogBook::is_dump(int log) const {
  return std::any_of(dumps.begin(), dumps.end(), [&](const DumpedLog& dump) { return dump.log == log; });
}

int LogBook::at_number(int log, int number) const {
  const auto behind =
      std::upper_bound(lines.begin(), lines.end(), std::pair(log, number),
                       [](auto place, const auto& line) { return place < std::pair(line.log, line.number); });
  if (behind == lines.begin() || (behind - 1)->log != log) return -1;
  return static_cast<int>(behind - lines.begin()) - 1;
}

bool LogBook::earlier(int a, int b) const {
  if (at(a).log == at(b).log) return a < b;
  const auto time_of = [&](int index) -> const Timestamp* {
    for (int i = index, left = 100; i >= 0 && left > 0 && at(i).log == at(index).log; --i, --left) {
      if (at(i).head.time) return &*at(i).head.time;
    }
    return nullptr;
  };
  const Timestamp* first = time_of(a);
  const Timestamp* second = time_of(b);
  if (first == nullptr || second == nullptr) return a < b;
  const double between = seconds_between(*first, *second);
  return between != 0 ? between > 0 : a < b;
}

int LogBook::below(int index) const {
  const auto next = static_cast<std::size_t>(index) + 1;
  if (next >= lines.size() || lines[next].log != at(index).log || lines[next].number > at(index).number + 1) return -1;
  return static_cast<int>(next);
}

int LogBook::above(int index) const {
  if (index == 0) return -1;
  const auto& previous = at(index - 1);
  return previous.log == at(index).log && previous.number + 1 >= at(index).number ? index - 1 : -1;
}

bool LogBook::mentions(std::string_view pattern) const {
  return !lines_matching(pattern, 1).empty();
}

std::vector<int> LogBook::lines_matching(std::string_view pattern, std::size_t limit) const {
  std::vector<Glob> globs;
  for (const auto alternative : split(pattern, '|')) globs.push_back(parse_glob(alternative));
  std::vector<int> out;
  for (std::size_t i = 0; i < lines.size() && out.size() < limit; ++i) {
    if (lines[i].chatter) continue;
    for (const auto& glob : globs) {
      if (!matches(glob, lines[i].low)) continue;
      out.push_back(static_cast<int>(i));
      break;
    }
  }
  return out;
}

}  // namespace fx::knowledge
