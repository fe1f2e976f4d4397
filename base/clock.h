// Time as the rest of the program sees it.
#pragma once

#include <cstdint>
#include <string>

namespace fx {

std::int64_t unix_millis();                      // wall clock, milliseconds since 1970
std::int64_t monotonic_millis();                 // for durations
std::string iso_time(std::int64_t unix_millis);  // "2026-11-30T06:07:13.042Z"

}  // namespace fx
