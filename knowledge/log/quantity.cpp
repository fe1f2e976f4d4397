#include "knowledge/log/quantity.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "knowledge/log/field_reader.h"
#include "knowledge/log/mark.h"

namespace fx::knowledge {
namespace {

constexpr std::array<std::string_view, 14> kWorkers{"world size",
                                                    "world_size",
                                                    "num_processes",
                                                    "number of processes",
                                                    "processes",
                                                    "ranks",
                                                    "gpus",
                                                    "devices",
                                                    "num_workers",
                                                    "nranks",
                                                    "number of ranks",
                                                    "workers",
                                                    "data parallel size",
                                                    "dp size"};

bool digit(char c) {
  return c >= '0' && c <= '9';
}

// The number that ends right before at, blanks between allowed.
std::optional<long long> number_before(std::string_view low, std::size_t at) {
  while (at > 0 && low[at - 1] == ' ') --at;
  const std::size_t end = at;
  while (at > 0 && digit(low[at - 1]) && end - at < 7) --at;
  if (at == end || (at > 0 && (low[at - 1] == '.' || low[at - 1] == '-'))) return std::nullopt;
  return integer_after(low.substr(at, end - at), "");
}

// The number that follows at, behind at most a few joining words and signs: "of", "is", "=", ":", "(".
std::optional<long long> number_behind(std::string_view low, std::size_t at) {
  for (const std::size_t limit = at + 8; at < low.size() && at < limit; ++at) {
    if (digit(low[at])) return integer_after(low.substr(at), "");
    if (std::string_view(" =:(_'\"").find(low[at]) != std::string_view::npos) continue;
    if (low.substr(at, 2) == "of" || low.substr(at, 2) == "is") {
      ++at;
      continue;
    }
    break;
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 17> kLabels{
    "tokens_in_loss", "tokens in loss", "target_token",     "response token",  "loss token",     "label",
    "supervised",     "target token",   "valid token",      "valid_token",     "targets",        "!= -100",
    "!= -1",          "unmasked",       "completion token", "trainable token", "assistant token"};

// "0/812", ": 0", "=0", "= 0", "0 of 812" behind a noun; "0 labels", "no labels" before it.
bool zero_beside(std::string_view low, std::size_t at, std::size_t length) {
  if (number_before(low, at) == 0) return true;
  std::string_view rest = low.substr(at + length, 48);
  const auto sign = rest.find_first_of(":=");
  const auto first = rest.find_first_of("0123456789");
  const bool beside = first <= 2;
  if (first == std::string_view::npos || (sign == std::string_view::npos && first > 12) ||
      (!beside && first < sign + 1))
    return false;
  if (rest[first] != '0') return false;
  const char next = first + 1 < rest.size() ? rest[first + 1] : ' ';
  return !digit(next) && next != '.' && next != 'x' && next != ',';
}

bool in_name(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || c == '_';
}

// "nan iterations: 0", "nan_values=0", "infs 0" from the end of the word on.
bool counts_zero(std::string_view rest) {
  rest = rest.substr(0, 28);
  // "nan: false", "'inf': no"
  const std::string_view value = rest.substr(std::min(rest.size(), rest.find_first_not_of("'\" :=")));
  for (const std::string_view denied : {"false", "no ", "no,", "none", "never"}) {
    if (value.size() < rest.size() && value.substr(0, denied.size()) == denied) return true;
  }
  const auto number = rest.find_first_of("0123456789|,;'");
  if (number == std::string_view::npos || rest[number] != '0') return false;
  const auto next = rest.substr(number + 1, 1);
  return next.empty() || std::string_view("123456789.x").find(next.front()) == std::string_view::npos;
}

}  // namespace

bool tells_not_finite(std::string_view low) {
  for (const std::string_view word :
       {"nan", "nans", "inf", "infs", "-inf", "infinity", "non-finite", "nonfinite", "not finite"}) {
    for (auto at = low.find(word); at != std::string_view::npos; at = low.find(word, at + 1)) {
      const auto end = at + word.size();
      if ((at > 0 && in_name(low[at - 1])) || (end < low.size() && in_name(low[end]))) continue;
      const auto before = low.substr(at > 12 ? at - 12 : 0, std::min<std::size_t>(at, 12));
      if (number_before(low, at) == 0 || matches_any("no _|without _", before) || counts_zero(low.substr(end)))
        continue;
      if (matches_any("check", low.substr(end, 10)) && !matches_any("fail|found|detect|raise", low)) continue;
      return true;
    }
  }
  return false;
}

bool loads_little(std::string_view low) {
  if (!matches_any("loaded|matched|restored|copied|mapped|load*keys|load*tensor|load*param", low) ||
      !matches_any("tensor|key|param|weight|layer|entries", low) ||
      matches_any("lora|error|file \"|gib|gb/|mib|not loaded 0|0 missing|missing 0", low))
    return false;
  for (auto at = low.find_first_of("0123456789"); at != std::string_view::npos;
       at = low.find_first_of("0123456789", at)) {
    std::size_t end = at;
    while (end < low.size() && digit(low[end])) ++end;
    const bool whole =
        (at == 0 || std::string_view(" :=([").find(low[at - 1]) != std::string_view::npos) && end - at < 7;
    const auto part = whole ? integer_after(low.substr(at, end - at), "") : std::nullopt;
    const std::string_view rest = low.substr(end);
    for (const std::string_view of : {"/", " / ", " of ", " out of ", " of the "}) {
      const auto all = rest.substr(0, of.size()) == of ? integer_after(rest.substr(of.size()), "") : std::nullopt;
      if (part && all && *all >= 20 && *part * 5 < *all && matches_any("tensor|key|param|weight|layer|entries", rest))
        return true;
    }
    at = end;
  }
  return false;
}

std::set<long long> worker_counts(std::string_view low) {
  std::set<long long> out;
  for (const auto noun : kWorkers) {
    for (auto at = low.find(noun); at != std::string_view::npos; at = low.find(noun, at + 1)) {
      for (const auto number : {number_before(low, at), number_behind(low, at + noun.size())}) {
        if (number && *number > 0 && *number < 1000000) out.insert(*number);
      }
    }
  }
  return out;
}

bool counts_no_label(std::string_view low) {
  for (const auto noun : kLabels) {
    for (auto at = low.find(noun); at != std::string_view::npos; at = low.find(noun, at + 1)) {
      if (zero_beside(low, at, noun.size())) return true;
    }
  }
  // "812 of 812 masked", "masked: 512/512"
  if (!matches_any("mask|-100|ignore", low)) return false;
  const auto numbers = integers_in(low);
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    const auto text = std::to_string(numbers[i]);
    if (numbers[i] == numbers[i + 1] && numbers[i] > 1 &&
        matches_any(text + "/" + text + "|" + text + " of " + text, low))
      return true;
  }
  return false;
}

}  // namespace fx::knowledge
