#include "server/commands/knowledge.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "server/commands/call.h"

namespace fx::server {
namespace {

std::string source_line(const Json& fact) {
  const auto source = fact.find("source");
  if (source == fact.end() || !source->is_object()) return {};
  std::vector<std::string> parts;
  for (const auto& [key, value] : source->items()) {
    parts.push_back(key + " " + (value.is_string() ? value.get<std::string>() : to_text(value)));
  }
  return join(parts, ", ");
}

void print_fact(const Json& fact) {
  std::printf("%s [%s]\n%s\n", text_at(fact, "title").c_str(), text_at(fact, "id").c_str(),
              text_at(fact, "text").c_str());
  if (const auto source = source_line(fact); !source.empty()) std::printf("source: %s\n", source.c_str());
  print_list("contradicted by", fact, "contradicted_by");
}

}  // namespace

int search_command(Session& session, const SearchOptions& options) {
  const auto answer = ask(session, "search_knowledge", {{"query", join(options.words, " ")}, {"limit", options.limit}});
  if (!answer) return report(answer.error());
  if (options.json) return print_json(*answer);
  if (const auto reason = text_at(*answer, "reason"); !reason.empty()) std::printf("%s\n\n", reason.c_str());
  bool first = true;
  for (const auto& fact : answer->value("facts", Json::array())) {
    if (!first) std::puts("");
    first = false;
    print_fact(fact);
  }
  if (first) std::puts("nothing found");
  return 0;
}

int explain_command(Session& session, const std::string& id, bool json) {
  const auto answer = ask(session, "explain", {{"id", id}});
  if (!answer) return report(answer.error());
  if (json) return print_json(*answer);
  if (const auto page = text_at(*answer, "page"); !page.empty()) {
    std::puts(page.c_str());
  } else {
    print_fact(*answer);
  }
  return 0;
}

}  // namespace fx::server
