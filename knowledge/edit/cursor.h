// Small steps over a text that the entry finders share.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "knowledge/edit/splice.h"

namespace fx::knowledge {

std::size_t line_begin(std::string_view text, std::size_t at);
std::size_t line_end(std::string_view text, std::size_t at);    // before "\n" or "\r\n"
std::size_t after_line(std::string_view text, std::size_t at);  // behind the line end, or the end of the text
std::size_t skip_blanks(std::string_view text, std::size_t at);
std::size_t back_over_blanks(std::string_view text, std::size_t at);  // the place behind the last non-blank in front
bool only_blanks(std::string_view text);
// Behind the closing quote of the string that starts at `at`, on the same line. doubled: '' stands for ' (YAML).
std::optional<std::size_t> skip_quoted(std::string_view text, std::size_t at, bool doubled = false);
// Behind the bracket that closes the one at `at`; strings and (after a blank) "#" comments inside are stepped over.
std::optional<std::size_t> skip_brackets(std::string_view text, std::size_t at);
// "{a: 1, b: 2}", `{"a": 1}`: the range to take away for the member [begin, end), with the comma that goes with it.
Span member_range(std::string_view text, Span member);

}  // namespace fx::knowledge
