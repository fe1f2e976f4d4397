// Calls a tool for a person's command.
#pragma once

#include <string_view>
#include <vector>

#include "server/services.h"

namespace fx::server {

// What every command gets.
struct Session {
  const std::vector<tools::Tool>& catalogue;
  Services& services;
};

// Errors: the tool's own, or kUnsupported when this build has no such tool.
Result<Json> ask(Session& session, std::string_view tool, const Json& arguments);

// value.at(key) as text; numbers and booleans are printed, null and absent give "".
std::string text_at(const Json& value, std::string_view key);
// "title:" and the texts of an array as a list; nothing when it is empty or absent.
void print_list(std::string_view title, const Json& value, std::string_view key);
int print_json(const Json& value);  // returns 0

}  // namespace fx::server
