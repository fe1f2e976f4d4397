#include "tools/explain.h"

#include <nlohmann/json.hpp>

#include "knowledge/store/store.h"
#include "spec/fields.h"
#include "tools/fact_json.h"

namespace fx::tools {
namespace {

struct Arguments {
  std::string id;
};

const Fields<Arguments>& argument_fields() {
  static const auto fields = Fields<Arguments>{}
                                 .add("id", &Arguments::id, "id of a rule, a cause or a fact, as other tools print it")
                                 .required();
  return fields;
}

Result<Json> explain(const Json& arguments, ToolContext& context) {
  const auto parsed = argument_fields().parse(arguments);
  if (!parsed) return parsed.error();
  const auto fact = context.store.find(parsed->id);
  if (!fact) return fact.error();
  Json out = fact_to_json(*fact);
  if (!fact->body.empty()) out["page"] = fact->body;
  out["questions"] = fact->questions;
  return out;
}

}  // namespace

Tool explain_tool() {
  Tool tool;
  tool.name = "explain";
  tool.description =
      "The full page of a rule, a failure cause or a fact by its id: what it means, why, and how to repair it.";
  tool.input_schema = to_text(schema_of(argument_fields().infos()));
  tool.handler = explain;
  return tool;
}

}  // namespace fx::tools
