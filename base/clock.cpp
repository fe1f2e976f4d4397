#include "base/clock.h"

#include <chrono>
#include <cstdio>
#include <ctime>

namespace fx {
namespace {

template <class Clock>
std::int64_t millis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

std::int64_t unix_millis() {
  return millis<std::chrono::system_clock>();
}
std::int64_t monotonic_millis() {
  return millis<std::chrono::steady_clock>();
}

std::string iso_time(std::int64_t unix_millis) {
  const std::time_t seconds = static_cast<std::time_t>(unix_millis / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  char text[48];
  std::snprintf(text, sizeof text, "%s.%03dZ", date, static_cast<int>(unix_millis % 1000));
  return text;
}

}  // namespace fx
