#include "knowledge/rules/page_testing.h"

#include <gtest/gtest.h>

#include "knowledge/rules/validate.h"

namespace fx::knowledge {
namespace {

Context context_of(const Example& example) {
  Context context;
  const auto found = example.expect.find("context");
  if (found == example.expect.end()) return context;
  const Document json = read_json(found->second);
  EXPECT_FALSE(json.error) << found->second;
  context.gpus = integer_of(json.root.find("gpus"));
  context.nodes = integer_of(json.root.find("nodes"));
  context.gpu = text_of(json.root.find("gpu"));
  if (const Node* model = json.root.find("model")) context.model = *model;
  if (const Node* versions = json.root.find("versions")) {
    for (const Node& version : versions->children) context.versions[version.name] = version.text;
  }
  return context;
}

}  // namespace

std::vector<PageFile> rule_page_files() {
  std::vector<PageFile> out;
  for (const EmbeddedFile& file : embedded::rule_pages()) {
    auto page = parse_page(file.text);
    EXPECT_TRUE(page) << file.path << ": " << (page ? "" : page.error().message);
    if (page) out.push_back({std::string(file.path), std::move(page.value())});
  }
  return out;
}

std::string expectation(const Example& example, const std::string& key) {
  const auto found = example.expect.find(key);
  return found == example.expect.end() ? "" : found->second;
}

Input input_of(const Example& example) {
  return read_input(example.text, expectation(example, "file"), context_of(example));
}

}  // namespace fx::knowledge
