// Text helpers that everything may use. All work on bytes; UTF-8 is kept whole where it matters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fx {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
// Lines without their line ends; "\r\n" and "\n" both end a line. A final empty line is not reported.
std::vector<std::string_view> split_lines(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string to_lower(std::string_view text);  // ASCII only
bool starts_with_ignoring_case(std::string_view text, std::string_view prefix);
bool contains(std::string_view text, std::string_view part);
bool contains_ignoring_case(std::string_view text, std::string_view part);  // ASCII only
std::string replace_all(std::string text, std::string_view from, std::string_view to);

// Whole-text number readers: nullopt when anything is left over or out of range.
std::optional<long long> to_integer(std::string_view text);
std::optional<double> to_number(std::string_view text);

// Levenshtein distance with a cut: returns limit + 1 as soon as the distance must be larger.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit = 8);
// The candidate nearest to word, if near enough to be a slip (distance <= a third of its length, at least 2).
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

// Text from outside made safe to show: invalid UTF-8, control, zero-width and direction characters removed, tabs and
// line ends turned into spaces, cut to max_bytes at a character boundary with "..." at the end. Never obeyed, only
// shown.
std::string quote_input(std::string_view text, std::size_t max_bytes = 200);
// Text with every invalid UTF-8 sequence replaced by U+FFFD, so that JSON can carry it.
std::string valid_utf8(std::string_view text);

}  // namespace fx
