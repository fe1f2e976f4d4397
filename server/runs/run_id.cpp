#include "server/runs/run_id.h"

#include <random>

#include "base/clock.h"

namespace fx::server {

std::string new_run_id(std::int64_t unix_millis) {
  // No vowels and no look-alikes: nothing to misread, no words by chance.
  static constexpr std::string_view kLetters = "23456789bcdfghjkmnpqrstvwxz";
  std::string id = "run-";
  for (const char c : iso_time(unix_millis).substr(0, 19)) {
    if (c == 'T') id += '-';
    if (c >= '0' && c <= '9') id += c;
  }
  id += '-';
  std::random_device device;  // the kernel's generator
  std::uniform_int_distribution<std::size_t> pick(0, kLetters.size() - 1);
  for (int i = 0; i < 12; ++i) id += kLetters[pick(device)];
  return id;
}

}  // namespace fx::server
