// Reads single fields out of a log line: numbers, sizes and words behind a key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fx::knowledge {

// The integer that follows key ("seqnum=" -> 30413), blanks between allowed. Signs are read.
std::optional<long long> integer_after(std::string_view text, std::string_view key);
std::optional<double> number_after(std::string_view text, std::string_view key);
// The word (letters, digits, "_.-/:") that follows key; empty when key is absent.
std::string word_after(std::string_view text, std::string_view key);
// A size such as "592.00 MiB", "12.27 GiB", "461.17GB", "1EB" behind key, in bytes.
std::optional<double> size_after(std::string_view text, std::string_view key);
// Every size in the text, in bytes, in order.
std::vector<double> sizes_in(std::string_view text);
// Every unsigned integer in the text, in order, thousands separators ("1,234") joined.
std::vector<long long> integers_in(std::string_view text);

}  // namespace fx::knowledge
