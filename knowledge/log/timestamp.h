// Timestamps of logs, in several styles.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace fx::knowledge {

struct Timestamp {
  double seconds = 0;      // since 1970 when the date is known, else since midnight of some day
  std::size_t length = 0;  // characters read
};

// A timestamp at the very start of text: 2023-07-26 09:11:40,120 | 2026-11-30T06:07:13.042Z | 09/22/2023 04:01:18 |
// 0626 03:50:14.01 (glog) | 03-03 09:00:12 | Nov 30 06:07:13 | 09:12:44.101.
std::optional<Timestamp> read_timestamp(std::string_view text);

}  // namespace fx::knowledge
