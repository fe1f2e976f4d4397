// What a fixed text promises, over every example of every page, and for the bytes that must not change.
#include "knowledge/rules/repair.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"
#include "knowledge/edit/splice.h"
#include "knowledge/rules/page_testing.h"
#include "knowledge/rules/validate.h"

namespace fx::knowledge {
namespace {

using Counts = std::map<std::pair<std::string, std::string>, int>;

Counts count(const std::vector<Finding>& findings, bool patched_only = false) {
  Counts counts;
  for (const Finding& one : findings) {
    if (!patched_only || !one.patch.empty()) ++counts[{one.rule, one.key}];
  }
  return counts;
}

void expect_no_new_error(const std::vector<Finding>& after, const Counts& before, const std::string& where) {
  for (const Finding& one : after) {
    const bool is_new = one.severity == Severity::kError && before.count({one.rule, one.key}) == 0;
    EXPECT_FALSE(is_new) << where << ": new error " << one.rule << " at " << one.key;
  }
}

void check(const Input& input, const Repair& fixed, const std::string& where) {
  const Input after = read_input(*fixed.text, input.filename, input.context);
  EXPECT_FALSE(after.document.error) << where;
  EXPECT_EQ(after.format, input.format) << where;
  const auto findings = validate(after);
  const Counts before = count(fixed.findings), patched = count(fixed.findings, true);
  Counts left = count(findings);
  if (!input.document.error) expect_no_new_error(findings, before, where);
  for (const auto& [key, n] : patched)
    EXPECT_LE(left[key], before.at(key) - n) << where << ": " << key.first << " is still there";
  EXPECT_FALSE(repair(after).text) << where << ": a second pass changes the text again";
}

TEST(Repair, KeepsItsPromisesOnEveryExample) {
  std::set<std::string> mechanical;
  for (const auto& [path, page] : rule_page_files()) {
    for (const Example& example : page.examples) {
      const std::string where = path + ":" + std::to_string(example.line);
      const Input input = input_of(example);
      const Repair fixed = repair(input);
      EXPECT_EQ(fixed.findings.size(), validate(input).size()) << where;
      EXPECT_EQ(fixed.withheld, "") << where;
      for (const Finding& one : fixed.findings) {
        if (one.rule == page.id && !one.patch.empty()) mechanical.insert(page.id);
      }
      if (fixed.text) check(input, fixed, where);
    }
  }
  EXPECT_GE(mechanical.size(), 140u);
}

std::string fix(const std::string& text, const std::string& name = "") {
  return repair(read_input(text, name, {})).text.value_or("(none)");
}

TEST(Repair, KeepsLineEndsCommentsAndTheByteOrderMark) {
  EXPECT_EQ(
      fix("\xEF\xBB\xBF"
          "# ours\r\ndistributed_type: fsdp   # why\r\nnum_processes: 8\r\nfsdp_config:\r\n"
          "  fsdp_auto_wrap_policy:   TRANSFORMER_BASED_WRAP\r\n  fsdp_state_dict_type: SHARDED # here\r\n"),
      "\xEF\xBB\xBF"
      "# ours\r\ndistributed_type: FSDP   # why\r\nnum_processes: 8\r\nfsdp_config:\r\n"
      "  fsdp_auto_wrap_policy:   TRANSFORMER_BASED_WRAP\r\n  fsdp_state_dict_type: SHARDED_STATE_DICT # here\r\n");
}

TEST(Repair, WritesANewKeyInTheStyleOfItsNeighbours) {
  const std::string head = "distributed_type: FSDP\nnum_processes: 8\n";
  EXPECT_EQ(fix(head + "fsdp_config:\n    fsdp_version: 2\n    # last\nmixed_precision: bf16\n"),
            head +
                "fsdp_config:\n    fsdp_version: 2\n    fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n    # last\n"
                "mixed_precision: bf16\n");
  EXPECT_EQ(fix(head + "fsdp_config: {fsdp_version: 2}"),
            head + "fsdp_config: {fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP}");
  EXPECT_EQ(fix("fsdp_config:\n  fsdp_version: 2\nnum_processes: 8\ndistributed_type: FSDP"),
            "fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nnum_processes: 8\n"
            "distributed_type: FSDP");
}

TEST(Repair, LeavesAValueAloneThatAnAnchorShares) {
  const std::string text =
      "distributed_type: FSDP\nnum_processes: 8\nfsdp_config: &block\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
      "  fsdp_version: 2\n  fsdp_state_dict_type: LOCAL_STATE_DICT\nipex_config: *block\n";
  EXPECT_EQ(fix(text), "(none)");
}

TEST(Repair, TakesTheLastFlagWithTheBackslashThatLedToIt) {
  EXPECT_EQ(fix("torchrun --nnodes 2 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint a:1 \\\n"
                "  --node_rank 1 \\\n  train.py --fsdp \"full-shard auto_wrap\" \\\n  --bf16 True\n"),
            "torchrun --nnodes 2 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint a:1 \\\n"
            "  train.py --fsdp \"full_shard auto_wrap\" \\\n  --bf16 True\n");
}

TEST(Repair, NeverRenamesAVariableThatTheScriptUsesElsewhere) {
  EXPECT_EQ(fix("export NCCL_BLOCKING_WAIT=1\ntorchrun --nproc_per_node 8 train.py\n"),
            "export TORCH_NCCL_BLOCKING_WAIT=1\ntorchrun --nproc_per_node 8 train.py\n");
  EXPECT_EQ(fix("NCCL_BLOCKING_WAIT=1\nexport NCCL_BLOCKING_WAIT\ntorchrun --nproc_per_node 8 train.py\n"), "(none)");
}

TEST(Repair, RepairsJsonThatLacksACommaOrABracket) {
  EXPECT_EQ(fix("{\n  \"fsdp\": true,\n  \"output_dir\": \"o\"\n  \"per_device_train_batch_size\": 2\n}\n"),
            "{\n  \"fsdp\": true,\n  \"output_dir\": \"o\",\n  \"per_device_train_batch_size\": 2\n}\n");
  EXPECT_EQ(fix("{\"fsdp\": true, \"output_dir\": \"o\", \"fsdp_config\": {\"version\": 2\n"),
            "{\"fsdp\": true, \"output_dir\": \"o\", \"fsdp_config\": {\"version\": 2}}\n");
}

TEST(Repair, ReachesIntoAConfigurationThatAScriptWrites) {
  const std::string script =
      "cat > fsdp.yaml <<EOF\ndistributed_type: fsdp\nnum_processes: $N\nfsdp_config:\n"
      "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nEOF\naccelerate launch --config_file fsdp.yaml train.py\n";
  EXPECT_EQ(fix(script), replace_all(script, "type: fsdp", "type: FSDP"));
}

TEST(Repair, ReplacesACredentialByAReference) {
  const std::string secret = "0123456789abcdef0123456789abcdef01234567";
  const Input input = read_input("export WANDB_API_KEY=" + secret + "\ntorchrun --nproc_per_node 8 train.py\n", "", {});
  const Repair fixed = repair(input);
  EXPECT_EQ(fixed.text, "export WANDB_API_KEY=${WANDB_API_KEY}\ntorchrun --nproc_per_node 8 train.py\n");
  for (const Finding& one : fixed.findings) EXPECT_FALSE(contains(one.message + one.fix + one.key, secret));
  EXPECT_FALSE(repair(input, {.replace_secrets = false}).text);
}

TEST(Repair, PatchesSayTheSameAsTheText) {
  const std::string text =
      "distributed_type: fsdp # \xC3\xA4\nnum_processes: 8\nfsdp_config: {fsdp_auto_wrap_policy: NO_WRAP, x\xC3\xB6: 1}\n";
  const Repair fixed = repair(read_input(text, "", {}));
  ASSERT_TRUE(fixed.text);
  bool seen = false;
  for (const Finding& one : fixed.findings) {
    if (one.rule != "accelerate-invalid-distributed-type") continue;
    ASSERT_EQ(one.patch.size(), 1u);
    const Edit& edit = one.patch[0];
    EXPECT_EQ(edit.start_line, 1);
    EXPECT_EQ(edit.start_column, 19);
    EXPECT_EQ(edit.end_column, 23);
    EXPECT_EQ(edit.replacement, "FSDP");
    seen = true;
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace fx::knowledge
