// Timestamps of logs, in several styles.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace fx::knowledge {

struct Timestamp {
  enum class Known { kTime, kDay, kYear };
  double seconds = 0;      // since 1970; without a year: since the year's beginning; without a day: since midnight
  std::size_t length = 0;  // characters read
  Known known = Known::kTime;
  double in_year = 0;  // since the beginning of a year without a leap day; 0 when the day is unknown
};

// Seconds from a to b, by what both know (a day has no year in some styles). Wrong by whole hours where the writers'
// time zones differ.
double seconds_between(const Timestamp& a, const Timestamp& b);

// A timestamp at the very start of text: 2023-07-26 09:11:40,120 | 2026-11-30T06:07:13.042Z | 09/22/2023 04:01:18 |
// 0626 03:50:14.01 (glog) | 03-03 09:00:12 | Nov 30 06:07:13 | 09:12:44.101.
std::optional<Timestamp> read_timestamp(std::string_view text);

}  // namespace fx::knowledge
