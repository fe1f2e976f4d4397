#include "knowledge/formats/effective_testing.h"

#include <gtest/gtest.h>

#include <set>

namespace fx::knowledge {

Input input_of(std::string_view text, Context context) {
  return read_input(text, "", std::move(context));
}

Context cluster(long long gpus, long long nodes) {
  Context context;
  context.gpus = gpus;
  context.nodes = nodes;
  return context;
}

void expect_run(const Input& input, std::string_view format, const FlatFields& want) {
  EXPECT_EQ(to_string(input.format), format);
  const EffectiveRun run = effective_run(input);
  const FlatFields got = flat_fields(run.run);
  for (const auto& [field, value] : want) {
    const auto found = got.find(field);
    EXPECT_EQ(found == got.end() ? "" : found->second, value) << field;
  }
  // Every origin names a real field and a line of the text.
  std::set<std::string> names;
  for (const FieldInfo& info : effective_fields()) {
    if (info.children.empty()) names.insert(info.name);
    for (const FieldInfo& child : info.children) names.insert(info.name + "." + child.name);
  }
  for (const Origin& origin : run.origins) {
    EXPECT_EQ(names.count(origin.field), 1U) << origin.field;
    EXPECT_FALSE(origin.key.empty()) << origin.field;
    EXPECT_GT(origin.line, 0) << origin.field;
  }
}

}  // namespace fx::knowledge
