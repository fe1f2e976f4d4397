#include "base/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fx {
namespace {

constexpr std::size_t kContext = 3;
constexpr std::size_t kMaxCells = std::size_t{16} << 20;

using Lines = std::vector<std::string_view>;

// Lines with their line ends, so that a change of line end is a change.
Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Step {
  char kind;  // ' ', '-', '+'
  std::string_view line;
};

void change_all(const Lines& a, const Lines& b, std::vector<Step>& steps) {
  for (const auto line : a) steps.push_back({'-', line});
  for (const auto line : b) steps.push_back({'+', line});
}

// Longest common subsequence of the lines between the equal ends.
void change_middle(const Lines& a, const Lines& b, std::vector<Step>& steps) {
  const std::size_t width = b.size() + 1;
  if ((a.size() + 1) * width > kMaxCells) return change_all(a, b, steps);
  std::vector<std::uint32_t> common((a.size() + 1) * width, 0);
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i * width + j] = a[i] == b[j] ? common[(i + 1) * width + j + 1] + 1
                                           : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      steps.push_back({' ', a[i++]});
      ++j;
    } else if (j == b.size() || (i < a.size() && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      steps.push_back({'-', a[i++]});
    } else {
      steps.push_back({'+', b[j++]});
    }
  }
}

std::vector<Step> steps_of(const Lines& a, const Lines& b) {
  std::size_t front = 0, back = 0;
  while (front < a.size() && front < b.size() && a[front] == b[front]) ++front;
  while (back < a.size() - front && back < b.size() - front && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  std::vector<Step> steps;
  for (std::size_t i = 0; i < front; ++i) steps.push_back({' ', a[i]});
  const auto middle = [&](const Lines& lines) {
    return Lines(lines.begin() + static_cast<std::ptrdiff_t>(front), lines.end() - static_cast<std::ptrdiff_t>(back));
  };
  change_middle(middle(a), middle(b), steps);
  for (std::size_t i = a.size() - back; i < a.size(); ++i) steps.push_back({' ', a[i]});
  return steps;
}

std::string range(std::size_t start, std::size_t count) {
  return std::to_string(count == 0 ? start : start + 1) + (count == 1 ? "" : "," + std::to_string(count));
}

// One hunk: steps [begin, end); a and b count the lines in front of it.
std::string hunk(const std::vector<Step>& steps, std::size_t begin, std::size_t end, std::size_t a, std::size_t b) {
  std::string body;
  std::size_t from = 0, to = 0;
  for (std::size_t i = begin; i < end; ++i) {
    from += steps[i].kind != '+' ? 1 : 0;
    to += steps[i].kind != '-' ? 1 : 0;
    body += steps[i].kind;
    body += steps[i].line;
    if (steps[i].line.back() != '\n') body += "\n\\ No newline at end of file\n";
  }
  return "@@ -" + range(a, from) + " +" + range(b, to) + " @@\n" + body;
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                         std::string_view after_name) {
  const std::vector<Step> steps = steps_of(lines_of(before), lines_of(after));
  std::string out;
  std::size_t a = 0, b = 0, i = 0;  // lines of both texts in front of step i
  while (i < steps.size()) {
    if (steps[i].kind == ' ') {
      ++a, ++b, ++i;
      continue;
    }
    const std::size_t lead = std::min(kContext, i - (i > kContext ? i - kContext : 0));
    std::size_t begin = i - lead, end = i, same = 0;
    for (std::size_t k = i; k < steps.size() && same <= 2 * kContext; ++k) {
      same = steps[k].kind == ' ' ? same + 1 : 0;
      if (same == 0) end = k + 1;
    }
    const std::size_t stop = std::min(steps.size(), end + kContext);
    out += hunk(steps, begin, stop, a - lead, b - lead);
    for (; i < stop; ++i) {
      a += steps[i].kind != '+' ? 1 : 0;
      b += steps[i].kind != '-' ? 1 : 0;
    }
  }
  if (out.empty()) return out;
  return "--- " + std::string(before_name) + "\n+++ " + std::string(after_name) + "\n" + out;
}

}  // namespace fx
