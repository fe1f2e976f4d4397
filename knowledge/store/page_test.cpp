#include "knowledge/store/page.h"

#include <gtest/gtest.h>

namespace fx::knowledge {
namespace {

TEST(ParsePage, ReadsFrontMatterSectionsAndExamples) {
  const auto page = parse_page(
      "---\nid: some-rule\ntitle: A title\nsources: a/b:c.py; run: x 1.0\n---\n# Some rule\n\n## What\nIt breaks.\n\n"
      "## Fix\n- one\n- two\n  more\n\n```yaml bad line=2 context={\"gpus\": 8, \"nodes\": 1}\nkey: 1\nother: "
      "2\n```\n");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->id, "some-rule");
  EXPECT_EQ(page->sources, (std::vector<std::string>{"a/b:c.py", "run: x 1.0"}));
  EXPECT_EQ(page->section("what"), "It breaks.");
  EXPECT_EQ(list_items(page->section("fix")), (std::vector<std::string>{"one", "two more"}));
  ASSERT_EQ(page->examples.size(), 1u);
  EXPECT_EQ(page->examples[0].kind, "bad");
  EXPECT_EQ(page->examples[0].expect.at("line"), "2");
  EXPECT_EQ(page->examples[0].expect.at("context"), "{\"gpus\": 8, \"nodes\": 1}");
  EXPECT_EQ(page->examples[0].text, "key: 1\nother: 2\n");
}

TEST(ParsePage, NamesTheLineOfABrokenPage) {
  EXPECT_FALSE(parse_page("no front matter"));
  const auto open = parse_page("---\nid: x\n---\n```yaml bad\nkey: 1\n");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().field, "line 4");
}

}  // namespace
}  // namespace fx::knowledge
