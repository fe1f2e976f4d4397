#include "knowledge/rules/repair.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/secret.h"
#include "base/text.h"
#include "knowledge/rules/judge.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 10;
constexpr int kMaxRounds = 6;
// Readings of a patched text, all rounds together: a number, and fewer for long texts.
constexpr std::size_t kMaxTrials = 40, kMaxBytesRead = std::size_t{384} << 10;

struct Candidate {
  std::size_t finding = 0;
  Splices splices;
  std::vector<std::string> touched;
};

using Counts = std::map<std::pair<std::string, std::string>, int>;  // rule and key

Counts count(const std::vector<Judged>& judged) {
  Counts counts;
  for (const Judged& one : judged) ++counts[{one.finding.rule, one.finding.key}];
  return counts;
}

void add_leaves(const Node& node, std::multiset<std::string>& facts) {
  if (node.children.empty()) facts.insert(node.shown + "=" + node.text);
  for (const Node& child : node.children) add_leaves(child, facts);
}

// All that the text says: a setting a fact, or a word of a command.
std::multiset<std::string> facts_of(const Input& input) {
  std::multiset<std::string> facts;
  if (input.syntax != "shell") {
    add_leaves(input.document.root, facts);
    return facts;
  }
  for (const ShellCommand& command : input.script.commands) {
    for (const ShellWord& word : command.words) facts.insert(word.text);
  }
  for (const Assignment& one : input.script.assignments) {
    std::string value = one.value.text;
    for (const ShellWord& item : one.items) value += " " + item.text;
    facts.insert(one.name + "=" + value);
  }
  for (const Directive& one : input.script.directives) facts.insert("#SBATCH " + one.name + "=" + one.value);
  return facts;
}

// What a set of candidates may change: names that a fact holds, and the texts that go and come.
struct Allowed {
  std::vector<std::string> names, texts;

  bool covers(const std::string& fact) const {
    const auto in_fact = [&](const std::string& name) { return contains(fact, name); };
    const auto of_text = [&](const std::string& text) {
      return contains(text, fact) || (text.size() > 1 && contains(fact, text));
    };
    return std::any_of(names.begin(), names.end(), in_fact) || std::any_of(texts.begin(), texts.end(), of_text);
  }
};

bool only_allowed(const Input& before, const Input& after, const Allowed& allowed) {
  const auto a = facts_of(before), b = facts_of(after);
  std::vector<std::string> changed;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(changed));
  return std::all_of(changed.begin(), changed.end(), [&](const std::string& fact) { return allowed.covers(fact); });
}

// One text and its candidates; grows the set of those that hold together.
class Round {
 public:
  Round(Input input, RepairOptions options, int& trials) : input_(std::move(input)), trials_(trials) {
    judged_ = judge(input_);
    counts_ = count(judged_);
    for (std::size_t i = 0; i < judged_.size(); ++i) {
      const Judged& one = judged_[i];
      if (one.changes.empty() || (!options.replace_secrets && one.finding.rule == "secret-in-config")) continue;
      if (auto splices = splices_of(input_, one.changes)) {
        if (clear(*splices)) candidates_.push_back({i, std::move(*splices), touched(one.changes)});
      }
    }
  }

  const std::vector<Judged>& judged() const { return judged_; }
  const std::vector<const Candidate*>& accepted() const { return accepted_; }

  // The text with all candidates that hold; nullopt when there are none.
  std::optional<std::string> run() {
    if (candidates_.empty()) return std::nullopt;
    std::vector<const Candidate*> chosen;
    for (const Candidate& one : candidates_) {
      if (fits(one, chosen)) chosen.push_back(&one);
    }
    if (auto text = attempt(chosen)) {
      accepted_ = std::move(chosen);
      return text;
    }
    std::optional<std::string> text;
    for (const Candidate& one : candidates_) {
      if (!fits(one, accepted_)) continue;
      accepted_.push_back(&one);
      if (auto next = attempt(accepted_)) {
        text = std::move(next);
      } else {
        accepted_.pop_back();
      }
    }
    return text;
  }

 private:
  // A patch is shown: what it writes must not hold a credential.
  static bool clear(const Splices& splices) {
    return std::all_of(splices.begin(), splices.end(),
                       [](const Splice& splice) { return find_secrets(splice.text).empty(); });
  }

  static bool fits(const Candidate& one, const std::vector<const Candidate*>& chosen) {
    return std::none_of(chosen.begin(), chosen.end(),
                        [&](const Candidate* other) { return overlap(one.splices, other->splices); });
  }

  std::optional<std::string> attempt(const std::vector<const Candidate*>& chosen) {
    if (trials_ <= 0 || chosen.empty()) return std::nullopt;
    --trials_;
    Splices splices;
    Allowed allowed;
    for (const Candidate* one : chosen) {
      splices.insert(splices.end(), one->splices.begin(), one->splices.end());
      allowed.names.insert(allowed.names.end(), one->touched.begin(), one->touched.end());
    }
    if (input_.syntax == "shell") {
      for (const Splice& splice : splices) {
        allowed.texts.push_back(input_.text.substr(splice.span.begin, splice.span.end - splice.span.begin));
        allowed.texts.push_back(splice.text);
      }
    }
    std::string text = spliced(input_.text, std::move(splices));
    const Input after = read_input(text, input_.filename, input_.context);
    return holds(after, allowed, chosen) ? std::optional<std::string>(std::move(text)) : std::nullopt;
  }

  bool holds(const Input& after, const Allowed& allowed, const std::vector<const Candidate*>& chosen) const {
    if (after.document.error || after.applicable != input_.applicable || after.formats != input_.formats) return false;
    const bool was_broken = input_.document.error.has_value();
    if (!was_broken && !only_allowed(input_, after, allowed)) return false;
    const std::vector<Judged> judged = judge(after);
    Counts counts = count(judged);
    for (const Judged& one : judged) {
      const bool loud = one.finding.severity == Severity::kError || one.finding.rule == "duplicate-key";
      const auto old = counts_.find({one.finding.rule, one.finding.key});
      const int before = old == counts_.end() ? 0 : old->second;
      // A text that did not parse hid its errors.
      if (loud && !was_broken && counts[{one.finding.rule, one.finding.key}] > before) return false;
    }
    Counts fixed;
    for (const Candidate* one : chosen) {
      const Finding& finding = judged_[one->finding].finding;
      const auto key = std::pair(finding.rule, finding.key);
      if (counts[key] > counts_.at(key) - ++fixed[key]) return false;
    }
    return true;
  }

  Input input_;
  int& trials_;
  std::vector<Judged> judged_;
  Counts counts_;
  std::vector<Candidate> candidates_;
  std::vector<const Candidate*> accepted_;
};

std::string secret_left(std::string_view text) {
  const auto spans = find_secrets(text);
  if (spans.empty()) return "";
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(spans[0].begin), '\n');
  return "Line " + std::to_string(line + 1) +
         " holds a credential, which no answer repeats; apply the patches to the file itself.";
}

}  // namespace

Repair repair(const Input& input, RepairOptions options) {
  Repair out;
  int trials = static_cast<int>(std::min(kMaxTrials, kMaxBytesRead / (input.text.size() + 1)));
  Round first(input, options, trials);
  std::optional<std::string> text;
  if (input.text.size() <= kMaxText) text = first.run();
  const TextMap map(input.text);
  for (const Judged& one : first.judged()) out.findings.push_back(one.finding);
  for (const Candidate* one : first.accepted()) out.findings[one->finding].patch = map.to_patch(one->splices);
  if (!text) return out;
  // Some fixes only show, or only fit, once others are made.
  for (int round = 1; round < kMaxRounds; ++round) {
    Round next(read_input(*text, input.filename, input.context), options, trials);
    auto better = next.run();
    if (!better) break;
    text = std::move(better);
  }
  if (options.replace_secrets) out.withheld = secret_left(*text);
  if (out.withheld.empty()) out.text = std::move(text);
  return out;
}

}  // namespace fx::knowledge
