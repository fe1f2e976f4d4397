// Any bytes get an answer: soon, without a crash, with the right lines where the text still means something.
#include <gtest/gtest.h>

#include <ctime>

#include "knowledge/formats/effective.h"
#include "knowledge/rules/validate.h"

namespace fx::knowledge {
namespace {

std::vector<Finding> findings_of(const std::string& text) {
  const Input input = read_input(text, "", Context{});
  std::vector<Finding> findings = validate(input);
  if (input.applicable) effective_run(input);
  return findings;
}

bool hits(const std::vector<Finding>& findings, std::string_view rule, int line) {
  for (const Finding& finding : findings) {
    if (finding.rule == rule && finding.line == line) return true;
  }
  return false;
}

std::string repeat(std::string_view unit, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += unit;
  return out;
}

// What once took time in the square of its length, or a stack a level.
std::vector<std::string> hostile_texts(std::size_t size) {
  std::vector<std::string> texts;
  for (const char* unit : {"{",
                           "[",
                           "\"",
                           "'",
                           "\\",
                           "$(",
                           "${",
                           "$((",
                           "`",
                           "- ",
                           ": ",
                           "? ",
                           "&a ",
                           "*a ",
                           "hf_",
                           "sk-",
                           "://",
                           "token: ",
                           "#SBATCH -N 2\n",
                           "export A\n",
                           "A+=(x)\n",
                           "torchrun a \\ \n--b 1\n",
                           "cat <<A\n",
                           "export A=1 B\n",
                           "[a]\n",
                           "a.",
                           "\xFF",
                           "\t"}) {
    texts.push_back(repeat(unit, size));
    texts.push_back("distributed_type: FSDP\nfsdp_config: " + repeat(unit, size));
    texts.push_back("#!/bin/bash\n#SBATCH -N 2\ntorchrun x.py " + repeat(unit, size));
    texts.push_back("{\"zero_optimization\": " + repeat(unit, size));
    texts.push_back("[parallelism]\na = " + repeat(unit, size));
    texts.push_back("from torchtitan import x\nParallelismConfig(a=" + repeat(unit, size));
  }
  texts.push_back(std::string(size, '\0'));
  return texts;
}

TEST(HostileInput, IsAnsweredInTimeThatGrowsWithItsLength) {
  for (const std::string& text : hostile_texts(std::size_t{6} << 10)) {
    const std::clock_t begin = std::clock();  // processor time: a busy machine is no fault
    findings_of(text);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 2) << text.substr(0, 40);  // a thousand times what it takes
  }
}

TEST(HostileInput, MegabytesOfUnknownKeysShowOnlyTheFirstOnes) {
  std::string text = "distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: NO_WRAP\n";
  for (int i = 0; i < 3000; ++i) text += "  fsdp_unknown_" + std::to_string(i) + ": 1\n";
  const auto findings = findings_of(text);
  EXPECT_LE(findings.size(), 120u);
  EXPECT_TRUE(hits(findings, "accelerate-unknown-fsdp-key", 4));
}

TEST(HostileInput, AYamlBombIsASyntaxErrorThatSaysSo) {
  std::string text = "distributed_type: FSDP\na0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string name = "a" + std::to_string(i), below = "*a" + std::to_string(i - 1);
    text += name + ": &" + name + " [";
    for (int k = 0; k < 9; ++k) text += (k > 0 ? "," : "") + below;
    text += "]\n";
  }
  const auto findings = findings_of(text);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().rule, "syntax-invalid");
  EXPECT_NE(findings.front().message.find("anchors"), std::string::npos) << findings.front().message;
}

TEST(OddBytes, ByteOrderMarkAndCarriageReturnsKeepTheLines) {
  const std::string text =
      "\xEF\xBB\xBF"
      "distributed_type: FSDP\r\nnum_processes: 8\r\nfsdp_config:\r\n"
      "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\r\n  fsdp_version: 3\r\n";
  EXPECT_TRUE(hits(findings_of(text), "accelerate-fsdp-version-invalid", 5));
  const std::string script = "#!/bin/bash\r\ntorchrun --nproc_per_node=8 \\\r\n  --nodes_typo 2 \\\r\n  train.py\r\n";
  EXPECT_TRUE(hits(findings_of(script), "launch-unknown-flag", 3));
}

TEST(OddBytes, MergeKeysBringTheirValuesAndOwnKeysWin) {
  const std::string text =
      "base: &base\n  fsdp_version: 2\n  fsdp_reshard_after_forward: FULL_SHARD\n"
      "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  <<: *base\n"
      "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n";
  EXPECT_TRUE(hits(findings_of(text), "accelerate-fsdp2-reshard-not-bool", 3));
  const std::string own = text + "  fsdp_reshard_after_forward: true\n";
  EXPECT_FALSE(hits(findings_of(own), "accelerate-fsdp2-reshard-not-bool", 3));
}

TEST(OddBytes, InvalidUtf8IsNeverHandedOn) {
  const auto findings = findings_of("distributed_type: FSDP\nfsdp_config:\n  fsdp_ver\xC3sion\xFF: 2\n");
  for (const Finding& finding : findings) {
    EXPECT_EQ((finding.message + finding.key + finding.fix).find('\xFF'), std::string::npos);
  }
}

}  // namespace
}  // namespace fx::knowledge
