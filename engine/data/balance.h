// Equal shares: which of several ranks or micro-batches computes which document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fx::engine {

// Splits weights (none negative) into so many parts of about equal sums by the differencing method of Karmarkar and
// Karp (1982): the two partial splits that are most uneven are joined, the heaviest part of one with the lightest of
// the other. Returns the indices of each part, ascending, heaviest part first; parts may be empty. The same on every
// machine. parts > 0.
std::vector<std::vector<std::size_t>> balance(const std::vector<std::int64_t>& weights, std::size_t parts);

}  // namespace fx::engine
