#include "knowledge/code_rules/config_comparison.h"

#include <gtest/gtest.h>

namespace fx::knowledge {
namespace {

constexpr const char* kCode = R"(import torch
from accelerate import Accelerator
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        return x


def main():
    acc = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=4)
    net = acc.prepare(nn.Sequential(Block(), Block()))
    acc.backward(net(torch.ones(1)).sum())
)";

std::vector<std::string> found(const std::string& config) {
  std::vector<std::string> out;
  const CodeReview review = review_code({{"train.py", kCode}}, {}, CodeConfig{"accelerate.yaml", config});
  for (const Finding& finding : review.findings)
    out.push_back(finding.rule + "@" + finding.file + ":" + std::to_string(finding.line));
  return out;
}

std::string config_with(const std::string& precision, const std::string& wrap) {
  return "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: " + precision +
         "\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
         "  fsdp_transformer_layer_cls_to_wrap: " +
         wrap + "\n";
}

TEST(ConfigComparison, AgreementIsSilent) {
  EXPECT_EQ(found(config_with("bf16", "Block")), std::vector<std::string>{});
}

TEST(ConfigComparison, PrecisionThatDiffersIsReportedInTheCode) {
  EXPECT_EQ(found(config_with("fp16", "Block")), std::vector<std::string>{"config-precision-differs@train.py:12"});
}

TEST(ConfigComparison, AWrapClassTheModelLacksIsReportedInTheConfig) {
  EXPECT_EQ(found(config_with("bf16", "Layer")),
            std::vector<std::string>{"config-wrap-class-unknown@accelerate.yaml:8"});
}

TEST(ConfigComparison, AConfigOfNoKnownFormatSaysNothing) {
  EXPECT_EQ(found("hello: world\n"), std::vector<std::string>{});
}

}  // namespace
}  // namespace fx::knowledge
