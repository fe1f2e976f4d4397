#include "server/commands/ask.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/catalogue.h"

namespace fx::server {

Result<Json> ask(Session& session, std::string_view name, const Json& arguments) {
  const tools::Tool* tool = tools::find_tool(session.catalogue, name);
  if (tool == nullptr) {
    return unsupported("", "this build has no tool " + std::string(name), "'fsdp-expert tools' lists what it has");
  }
  return tools::call_tool(*tool, arguments, session.services.context());
}

std::string text_at(const Json& value, std::string_view key) {
  if (!value.is_object()) return {};
  const auto found = value.find(key);
  if (found == value.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : to_text(*found);
}

void print_list(std::string_view title, const Json& value, std::string_view key) {
  const auto found = value.find(key);
  if (found == value.end() || !found->is_array() || found->empty()) return;
  std::printf("%.*s:\n", static_cast<int>(title.size()), title.data());
  for (const auto& item : *found) {
    const std::string text = item.is_string() ? item.get<std::string>() : to_text(item);
    std::printf("  - %s\n", text.c_str());
  }
}

int print_json(const Json& value) {
  std::puts(to_text(value, 2).c_str());
  return 0;
}

}  // namespace fx::server
