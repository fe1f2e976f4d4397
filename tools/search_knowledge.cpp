#include "tools/search_knowledge.h"

#include <nlohmann/json.hpp>

#include "knowledge/store/store.h"
#include "spec/fields.h"
#include "tools/fact_json.h"

namespace fx::tools {
namespace {

struct Arguments {
  std::string query;
  long long limit = 5;
  std::string language;
};

const Fields<Arguments>& argument_fields() {
  static const auto fields =
      Fields<Arguments>{}
          .add("query", &Arguments::query, "question, error message, flag or file name, in any language")
          .required()
          .add("limit", &Arguments::limit, "how many facts")
          .min(1)
          .max(50)
          .add("language", &Arguments::language, "language of the question: en, da, zh, ...");
  return fields;
}

Result<Json> search(const Json& arguments, ToolContext& context) {
  const auto parsed = argument_fields().parse(arguments);
  if (!parsed) return parsed.error();
  const auto found = context.store.search(parsed->query, static_cast<std::size_t>(parsed->limit), parsed->language);
  if (!found) return found.error();
  Json out;
  out["applicable"] = found->applicable;
  if (!found->applicable) {
    out["reason"] = "not a question about sharded training; the first fact says where it belongs";
  }
  out["facts"] = Json::array();
  for (const auto& fact : found->facts) out["facts"].push_back(fact_to_json(fact));
  return out;
}

}  // namespace

Tool search_knowledge_tool() {
  Tool tool;
  tool.name = "search_knowledge";
  tool.description =
      "Finds documented facts about PyTorch FSDP training (flags, limits, error messages, checkpoints, memory, Relax, "
      "slime, "
      "verl, accelerate, axolotl, torchtitan), each with its source and known contradictions.";
  tool.input_schema = to_text(schema_of(argument_fields().infos()));
  tool.handler = search;
  return tool;
}

}  // namespace fx::tools
