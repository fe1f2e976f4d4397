#include "knowledge/rules/validate.h"

#include <algorithm>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/rules/rule.h"
#include "knowledge/store/page.h"

namespace fx::knowledge {
namespace {

Finding to_finding(const Rule& rule, const Hit& hit, const Page& page) {
  Finding finding;
  finding.rule = std::string(rule.id);
  finding.severity = hit.severity.value_or(rule.severity);
  finding.key = quote_input(mask_secrets(hit.key), 120);
  finding.file = "";
  finding.line = std::max(1, hit.line);
  finding.column = hit.column;
  finding.message = hit.detail.empty() ? "" : mask_secrets(hit.detail) + " ";
  finding.message += one_line(page.section("why"));
  if (finding.message.empty()) finding.message = page.title;
  finding.fix = hit.fix.empty() ? one_line(page.section("fix")) : mask_secrets(hit.fix);
  finding.sources = page.sources;
  return finding;
}

}  // namespace

std::vector<Finding> validate(const Input& input) {
  std::vector<Finding> findings;
  for (const Rule& rule : all_rules()) {
    const bool always = rule.id == "secret-in-config" || rule.id == "not-applicable";
    if (!always && (!input.applicable || !input.is(rule.formats))) continue;
    // A text that does not parse has no tree to ask; only the rules about its form may speak.
    if (input.document.error && rule.formats != kAnyFormat) continue;
    Hits hits;
    rule.check(input, hits);
    if (hits.empty()) continue;
    const Page page = find_page(embedded::rule_pages(), rule.id);
    std::size_t left = Hits::kMaxHits;
    for (const Hit& hit : hits.all()) {
      if (left-- == 0) break;
      findings.push_back(to_finding(rule, hit, page));
    }
  }
  sort_findings(findings);
  return findings;
}

}  // namespace fx::knowledge
