// Reviews Python training code: reads the files, runs every rule, words the findings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/embedded_file.h"
#include "knowledge/code/program.h"
#include "spec/finding.h"

namespace fx::embedded {
std::span<const EmbeddedFile> code_rule_pages();  // "optimizer-before-shard.md", text
}

namespace fx::knowledge {

struct CodeReview {
  bool applicable = false;  // false: nothing of distributed training in the files
  std::string seems;        // what the files are instead; empty if that is not clear
  std::string pointer;      // where to go instead
  std::vector<Finding> findings;
  std::vector<std::string> broken_files;  // names of those that are no valid Python as a whole
  std::vector<std::string> limits;        // sentences: which part was not reviewed, and why
};

// The configuration the code is launched with, when it is at hand.
struct CodeConfig {
  std::string name, text;
};

// Never fails, never runs the code. Time and memory are bounded.
CodeReview review_code(std::vector<code::InputFile> files, const code::ReviewContext& context,
                       const std::optional<CodeConfig>& config = {});

}  // namespace fx::knowledge
