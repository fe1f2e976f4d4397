#include "tools/fact_json.h"

#include <nlohmann/json.hpp>

namespace fx::tools {

Json fact_to_json(const knowledge::Fact& fact) {
  Json out;
  out["id"] = fact.id;
  out["kind"] = fact.kind;
  out["title"] = fact.title;
  out["text"] = fact.text;
  auto source = parse_json(fact.source);
  out["source"] = source ? std::move(*source) : Json::object();
  out["contradicted_by"] = fact.contradicted_by;
  return out;
}

}  // namespace fx::tools
