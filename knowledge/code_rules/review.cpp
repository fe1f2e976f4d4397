#include "knowledge/code_rules/review.h"

#include <algorithm>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/code_rules/config_comparison.h"
#include "knowledge/code_rules/rule.h"
#include "knowledge/store/page.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kMaxHits = 20;  // of one rule

struct Look {
  std::string_view module, seems, pointer;
};

// What else Python with these imports is for, and where its questions belong.
constexpr Look kLooks[] = {
    {"langgraph", "an agent or workflow program", "the documentation of its agent framework"},
    {"langchain_core", "an agent or workflow program", "the documentation of its agent framework"},
    {"openai", "a client of a hosted model", "the provider's documentation"},
    {"vllm", "an inference server or client", "the documentation of the inference engine"},
    {"sglang", "an inference server or client", "the documentation of the inference engine"},
    {"fastapi", "a web service", "the documentation of its web framework"},
    {"flask", "a web service", "the documentation of its web framework"},
    {"torch", "training or inference in one process",
     "plan_finetune tells whether the model needs several GPUs; a single process needs no review of sharding"},
};

Finding to_finding(const CodeRule& rule, const CodeHit& hit, const Page& page) {
  Finding finding;
  finding.rule = std::string(rule.id);
  finding.severity = rule.severity;
  finding.file = hit.file == nullptr ? "" : quote_input(hit.file->name, 200);
  finding.line = hit.line;
  finding.column = hit.column;
  finding.message = hit.detail.empty() ? "" : mask_secrets(hit.detail) + " ";
  finding.message += one_line(page.section("why"));
  finding.fix = one_line(page.section("fix"));
  finding.sources = page.sources;
  return finding;
}

}  // namespace

void Findings::at(const code::Event& event, std::string detail) {
  at(event.file, event.node, std::move(detail));
}

void Findings::at(const code::SourceFile* file, code::Node node, std::string detail) {
  const bool known =
      std::ranges::any_of(hits_, [&](const CodeHit& hit) { return hit.file == file && hit.line == node.line(); });
  if (file != nullptr && node && !known) hits_.push_back({file, node.line(), node.column(), std::move(detail)});
}

CodeReview review_code(std::vector<code::InputFile> files, const code::ReviewContext& context,
                       const std::optional<CodeConfig>& config) {
  CodeReview review;
  const auto program = code::Program::read(std::move(files), context);
  for (const auto& file : program->files()) {
    const std::string_view left_out = file->syntax->left_out();
    if (!left_out.empty()) review.limits.push_back(quote_input(file->name, 200) + " " + std::string(left_out) + ".");
    // Of a file that was not read nobody knows whether it is valid.
    if (file->syntax->has_errors() && file->syntax->size() > 0) review.broken_files.push_back(file->name);
  }
  if (!program->all_executed())
    review.limits.push_back(
        "The program is larger than what is followed: some functions were not reviewed. Send fewer files.");
  review.applicable = program->in_scope();
  if (!review.applicable) {
    for (const Look& look : kLooks) {
      if (!program->imports(look.module)) continue;
      review.seems = look.seems;
      review.pointer = look.pointer;
      break;
    }
    return review;
  }
  for (const CodeRule& rule : code_rules()) {
    Findings findings;
    rule.check(*program, findings);
    if (findings.all().empty()) continue;
    const Page page = find_page(embedded::code_rule_pages(), rule.id);
    for (std::size_t i = 0; i < findings.all().size() && i < kMaxHits; ++i)
      review.findings.push_back(to_finding(rule, findings.all()[i], page));
  }
  if (config) {
    for (ConfigHit& hit : compare_with_config(*program, *config)) {
      const CodeRule rule{hit.rule, Severity::kWarning, nullptr};
      Finding finding = to_finding(rule, hit.at, find_page(embedded::code_rule_pages(), hit.rule));
      if (hit.at.file == nullptr) finding.file = quote_input(config->name, 200);
      review.findings.push_back(std::move(finding));
    }
  }
  sort_findings(review.findings);
  return review;
}

}  // namespace fx::knowledge
