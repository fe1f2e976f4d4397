#include <gtest/gtest.h>

#include <string>

#include "knowledge/config/node.h"
#include "knowledge/config/shell_script.h"

namespace fx::knowledge {
namespace {

TEST(ReadYaml, GivesKeysValuesAndLines) {
  const Document yaml = read_yaml("\xEF\xBB\xBF# note\r\na: 1\r\nb:\r\n  c: 'no'\r\n  d: no\r\n  e: [x, y]\r\n");
  ASSERT_FALSE(yaml.error);
  EXPECT_EQ(yaml.root.find("a")->line, 2);
  EXPECT_EQ(yaml.root.at("b.c")->kind, Node::Kind::kString);
  EXPECT_EQ(yaml.root.at("b.d")->kind, Node::Kind::kBool);
  EXPECT_EQ(yaml.root.at("b.d")->shown, "b.d");
  EXPECT_EQ(words_of(yaml.root.at("b.e")), (std::vector<std::string>{"x", "y"}));
}

TEST(ReadYaml, MergesAnchorsUnderTheOwnKeys) {
  const Document yaml = read_yaml("base: &b {x: 1, y: 2}\nrun:\n  <<: *b\n  y: 3\n");
  ASSERT_FALSE(yaml.error);
  EXPECT_EQ(integer_of(yaml.root.at("run.x")), 1);
  EXPECT_EQ(integer_of(yaml.root.at("run.y")), 3);
  EXPECT_TRUE(yaml.duplicates.empty());
}

TEST(ReadYaml, ReportsDuplicatesOnTheSecondLine) {
  const Document yaml = read_yaml("a: 1\nb: 2\na: 3\n");
  ASSERT_EQ(yaml.duplicates.size(), 1u);
  EXPECT_EQ(yaml.duplicates[0].first_line, 1);
  EXPECT_EQ(yaml.duplicates[0].line, 3);
  EXPECT_EQ(text_of(yaml.root.find("a")), "3");
}

TEST(ReadYaml, StopsAtABombAndAtDeepNesting) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string n = std::to_string(i), p = "*a" + std::to_string(i - 1);
    bomb += "a" + n + ": &a" + n + " [" + p + ", " + p + ", " + p + ", " + p + ", " + p + ", " + p + ", " + p + ", " +
            p + "]\n";
  }
  EXPECT_TRUE(read_yaml(bomb).error);
  EXPECT_TRUE(read_yaml(std::string(5000, '[')).error);
  EXPECT_TRUE(read_json(std::string(5000, '[')).error);
  EXPECT_TRUE(read_toml("a = " + std::string(5000, '[')).error);
}

TEST(TabIndentedLine, FindsTheFirstTabOutsideBlockText) {
  EXPECT_EQ(tab_indented_line("a:\n\tb: 1\n"), 2);
  EXPECT_EQ(tab_indented_line("a: |\n  x\n  \ty\nb: 1\n"), 0);
}

TEST(ReadJson, NamesTheLineOfTheMistake) {
  const Document json = read_json("{\n  \"a\": 1,\n  \"b\": fal\n");
  ASSERT_TRUE(json.error);
  EXPECT_EQ(json.error->line, 3);
}

TEST(ReadToml, KeepsLinesAndRefusesATableTwice) {
  const Document toml = read_toml("[a]\nx = 1\n[b]\ny = 'z'\n");
  ASSERT_FALSE(toml.error);
  EXPECT_EQ(toml.root.at("b.y")->line, 4);
  EXPECT_EQ(toml.root.at("b.y")->shown, "b.y");
  EXPECT_TRUE(read_toml("[a]\nx = 1\n[a]\ny = 2\n").error);
}

TEST(ReadShell, ExpandsVariablesArraysAndArithmetic) {
  const ShellScript script = read_shell(
      "N=${N:-4}\nARGS=(\n  --x 1\n  --y \"$N\"\n)\nrun \\\n  --total $((N * 2)) \"${ARGS[@]}\" $UNKNOWN  # note\n");
  ASSERT_EQ(script.commands.size(), 1u);
  std::vector<std::string> words;
  for (const auto& word : script.commands[0].words) words.push_back(word.text);
  EXPECT_EQ(words, (std::vector<std::string>{"run", "--total", "8", "--x", "1", "--y", "4", "$UNKNOWN"}));
  EXPECT_EQ(script.commands[0].words[3].line, 3);
  EXPECT_FALSE(script.commands[0].words[7].resolved());
}

TEST(ReadShell, ReadsNestedCommandsAndSkipsHeredocs) {
  const ShellScript script = read_shell("cat <<EOF > x\nrun --no\nEOF\nsrun bash -c 'go --rank $SLURM_PROCID'\n");
  ASSERT_EQ(script.commands.size(), 3u);
  EXPECT_EQ(script.commands[2].words[0].text, "go");
  EXPECT_TRUE(script.commands[2].in_task);
  EXPECT_TRUE(script.commands[2].words[2].unresolved[0].in_task);
}

TEST(ReadShell, SurvivesSelfReferenceAndOpenQuotes) {
  std::string doubling = "A=xxxxxxxxxx\n";
  for (int i = 0; i < 60; ++i) doubling += "A=$A$A\n";
  EXPECT_FALSE(read_shell(doubling + "run $A\n").complete);
  read_shell("run \"open ${X:-\n$((1+\n`");
  read_shell("X=(a b\n");
}

TEST(ReadShell, ReadsAHeredocThatAShellReads) {
  const ShellScript script = read_shell(
      "N=2\nsrun bash <<EOF\ntorchrun --nnodes $N --node_rank \\$SLURM_NODEID \\\n  train.py\nEOF\necho done\n");
  ASSERT_EQ(script.commands.size(), 3u);
  const ShellCommand& inner = script.commands[1];
  EXPECT_TRUE(inner.in_task);
  ASSERT_EQ(inner.words.size(), 6u);
  EXPECT_EQ(inner.words[2].text, "2");
  EXPECT_EQ(inner.words[3].line, 3);
  EXPECT_EQ(inner.words[3].column, 22);
  EXPECT_EQ(inner.words[4].text, "$SLURM_NODEID");
  EXPECT_EQ(inner.words[5].line, 4);
  EXPECT_TRUE(script.heredocs.empty());
}

TEST(ReadShell, KeepsAHeredocThatIsWrittenToAFile) {
  const ShellScript script = read_shell("cat <<-'END' > cfg.yaml\n\ta: 1\n\tb: $X\n\tEND\ntorchrun train.py\n");
  ASSERT_EQ(script.heredocs.size(), 1u);
  EXPECT_EQ(script.heredocs[0].text, "a: 1\nb: $X\n");
  EXPECT_EQ(script.heredocs[0].file, "cfg.yaml");
  EXPECT_EQ(script.heredocs[0].line, 2);
  EXPECT_FALSE(script.heredocs[0].expands);
  EXPECT_EQ(script.commands.size(), 2u);
}

}  // namespace
}  // namespace fx::knowledge
