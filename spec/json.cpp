#include "spec/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace fx {
namespace {

// Brackets and keys outside strings, counted before parsing: a deep document must not use up the parser's stack, and an
// object that keeps its order takes time quadratic in its keys. Empty when the text keeps to the limits.
std::string limit_problem(std::string_view text, const JsonLimits& limits) {
  std::vector<std::size_t> keys;  // of each open bracket
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      keys.push_back(0);
      if (keys.size() > limits.max_depth) return "nested deeper than " + std::to_string(limits.max_depth) + " levels";
    } else if ((c == '}' || c == ']') && !keys.empty()) {
      keys.pop_back();
    } else if (c == ':' && !keys.empty() && ++keys.back() > limits.max_keys) {
      return "with more than " + std::to_string(limits.max_keys) + " keys in one object";
    }
  }
  return {};
}

std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

Result<Json> parse_json(std::string_view text, JsonLimits limits) {
  if (text.size() > limits.max_bytes) {
    return Error{ErrorCode::kTooLarge,
                 "JSON larger than " + std::to_string(limits.max_bytes >> 20) + " MiB",
                 "send less at once",
                 {},
                 {}};
  }
  if (const auto problem = limit_problem(text, limits); !problem.empty()) {
    return invalid_argument("", "JSON " + problem, "flatten or shorten it");
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return invalid_argument("", "not valid JSON at " + place(text, error.byte), "check quotes, commas and brackets");
  } catch (const Json::exception&) {
    return invalid_argument("", "not valid JSON: a number is out of range", "use numbers below 1e308");
  }
}

std::string to_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json error_to_json(const Error& error) {
  Json out = {{"code", info(error.code).name}, {"message", error.message}};
  if (!error.field.empty()) out["field"] = error.field;
  if (!error.hint.empty()) out["hint"] = error.hint;
  for (const auto& detail : error.details) out["details"].push_back(error_to_json(detail));
  return out;
}

}  // namespace fx
