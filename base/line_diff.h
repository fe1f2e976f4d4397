// The difference of two texts in the unified format that `patch` and `git apply` read.
#pragma once

#include <string>
#include <string_view>

namespace fx {

// "" when the texts are equal. Names stand in the two header lines; three lines of context. Very long texts that differ
// all over come as one hunk.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                         std::string_view after_name);

}  // namespace fx
