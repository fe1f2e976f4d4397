#include "server/reference.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace fx::server {
namespace {

constexpr const char* kNotice = "<!-- Written by `fsdp-expert docs write`. Do not edit. -->\n";

std::string cell(std::string text) {
  return replace_all(replace_all(std::move(text), "|", "\\|"), "\n", " ");
}

std::string type_of(const Json& schema) {
  const std::string type = schema.value("type", "any");
  if (type != "array" || !schema.contains("items")) return type;
  return "array of " + schema["items"].value("type", "any");
}

std::string number_text(const Json& number) {
  const double value = number.get<double>();
  return std::floor(value) == value && std::abs(value) < 1e15 ? std::to_string(static_cast<long long>(value))
                                                              : to_text(number);
}

// What a value must be like, besides its type.
std::string limits_of(const Json& schema) {
  std::vector<std::string> parts;
  if (schema.contains("enum")) {
    std::vector<std::string> choices;
    for (const auto& choice : schema["enum"]) choices.push_back("`" + choice.get<std::string>() + "`");
    parts.push_back("one of " + join(choices, ", "));
  }
  for (const auto& [key, words] : {std::pair("minimum", "at least "), std::pair("exclusiveMinimum", "above "),
                                   std::pair("maximum", "at most "), std::pair("maxItems", "no more items than ")}) {
    if (schema.contains(key)) parts.push_back(words + number_text(schema[key]));
  }
  return join(parts, "; ");
}

void add_rows(const Json& schema, const std::string& prefix, std::string& out) {
  std::vector<std::string> required;
  for (const auto& name : schema.value("required", Json::array())) required.push_back(name.get<std::string>());
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, field] : properties.items()) {
    const bool needed = std::find(required.begin(), required.end(), name) != required.end();
    std::string help = field.value("description", "");
    if (const auto limits = limits_of(field); !limits.empty()) help += (help.empty() ? "" : " — ") + limits;
    out += "| `" + prefix + name + "` | " + type_of(field) + (needed ? ", required" : "") + " | " + cell(help) + " |\n";
    if (field.contains("properties")) add_rows(field, prefix + name + ".", out);
    if (field.contains("items") && field["items"].contains("properties"))
      add_rows(field["items"], prefix + name + "[].", out);
  }
}

std::string field_table(const std::string& schema_text) {
  std::string rows;
  add_rows(Json::parse(schema_text), "", rows);
  return rows.empty() ? "None.\n" : "| field | type | meaning |\n|---|---|---|\n" + rows;
}

std::string tools_page(const std::vector<tools::Tool>& catalogue) {
  std::string text = std::string(kNotice) +
                     "# Tools\n\nEvery tool is there as `POST /v1/tools/<name>`, as an MCP tool of the same name, and "
                     "as `fsdp-expert call "
                     "<name>`. Unknown arguments are ignored.\n";
  for (const auto& tool : catalogue) {
    text += "\n## " + tool.name + "\n" + tool.description +
            (tool.read_only ? "\n" : " (It changes things: runs start or end.)\n");
    text += "\n### Arguments\n" + field_table(tool.input_schema);
    if (!tool.output_schema.empty()) text += "\n### Answer\n" + field_table(tool.output_schema);
  }
  return text;
}

std::string errors_page() {
  std::string text =
      std::string(kNotice) +
      "# Errors\n\nOne table for HTTP (`code` in the problem document), MCP (`error.code` in the text) and the command "
      "line "
      "(exit code).\n\n| code | title | HTTP status | exit code | JSON-RPC code |\n|---|---|---|---|---|\n";
  for (const auto& row : error_codes()) {
    text += "| `" + std::string(row.name) + "` | " + std::string(row.title) + " | " + std::to_string(row.http_status) +
            " | " + std::to_string(row.exit_code) + " | " + std::to_string(row.json_rpc_code) + " |\n";
  }
  return text;
}

}  // namespace

std::vector<ReferencePage> reference_pages(const std::vector<tools::Tool>& catalogue,
                                           const std::string& command_line_help) {
  return {{"tools.md", tools_page(catalogue)},
          {"errors.md", errors_page()},
          {"command_line.md", std::string(kNotice) + "# Command line\n\n```text\n" + command_line_help + "```\n"}};
}

}  // namespace fx::server
