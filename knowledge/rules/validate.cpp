#include "knowledge/rules/validate.h"

#include <algorithm>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/rules/fixes.h"
#include "knowledge/rules/judge.h"
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

// Changes of a heredoc's configuration as changes of the script, where the script holds it byte for byte.
Changes in_script(const Input& script, const Heredoc& heredoc, const Input& inner, const Changes& changes) {
  const auto begin = TextMap(script.text).offset(heredoc.line, 1);
  if (!begin || script.text.compare(*begin, heredoc.text.size(), heredoc.text) != 0) return {};
  Changes out;
  for (const Splice& splice : splices_of(inner, changes).value_or(Splices{})) {
    out.push_back(
        {Change::Kind::kReplace, {}, "", splice.text, {*begin + splice.span.begin, *begin + splice.span.end}});
  }
  return out;
}

// Configurations that a script writes through heredocs. Lines with a variable are the running shell's business;
// credentials are found in the script as a whole.
std::vector<Judged> judge_heredocs(const Input& input) {
  std::vector<Judged> judged;
  std::size_t left = 20;  // of one script; each is read and judged like a file
  for (const Heredoc& heredoc : input.script.heredocs) {
    if (left-- == 0) break;
    const Input inner = read_input(heredoc.text, heredoc.file, input.context);
    if (!inner.applicable || inner.syntax == "shell") continue;
    const auto lines = split_lines(inner.text);
    for (Judged& one : judge(inner)) {
      Finding& finding = one.finding;
      const auto index = static_cast<std::size_t>(finding.line - 1);
      const bool variable = heredoc.expands && index < lines.size() && contains(lines[index], "$");
      if (variable || finding.rule == "secret-in-config") continue;
      finding.line += heredoc.line - 1;
      one.changes = in_script(input, heredoc, inner, one.changes);
      judged.push_back(std::move(one));
    }
  }
  return judged;
}

}  // namespace

std::vector<Judged> judge(const Input& input) {
  std::vector<Judged> judged = judge_heredocs(input);
  const TextMap map(input.text);
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
      judged.push_back({to_finding(rule, hit, page), changes_of(rule, input, hit)});
      Finding& finding = judged.back().finding;
      finding.column = map.column_in_characters(finding.line, finding.column);
    }
  }
  std::stable_sort(judged.begin(), judged.end(),
                   [](const Judged& a, const Judged& b) { return comes_before(a.finding, b.finding); });
  return judged;
}

std::vector<Finding> validate(const Input& input) {
  std::vector<Finding> findings;
  for (Judged& one : judge(input)) findings.push_back(std::move(one.finding));
  return findings;
}

}  // namespace fx::knowledge
