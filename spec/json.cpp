#include "spec/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fx {
namespace {

// Brackets outside strings, counted before parsing: a deep document must not use up the parser's stack.
bool too_deep(std::string_view text, std::size_t max_depth) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
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
    return Error{ErrorCode::kTooLarge, "JSON larger than " + std::to_string(limits.max_bytes >> 20) + " MiB",
                 "send less at once", {}, {}};
  }
  if (too_deep(text, limits.max_depth)) {
    return invalid_argument("", "JSON nested deeper than " + std::to_string(limits.max_depth) + " levels",
                            "flatten it");
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
