// A rule: an id, a severity, the formats it speaks about, and a check that says where it hits. Its words are on its
// page.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/edit/change.h"
#include "knowledge/formats/input.h"
#include "spec/finding.h"

namespace fx::knowledge {

struct Hit {
  std::string key;
  int line = 1, column = 0;
  std::string detail;  // what this file says, in front of the page's text; quotes input only through quote_input()
  std::string fix;     // instead of the page's fix, when the file tells more
  std::optional<Severity> severity;
  Changes changes = {};  // the fix, where the check knows it better than the rule's row in fixes.h
};

// Collects the hits of one rule.
class Hits {
 public:
  static constexpr std::size_t kMaxHits = 50;  // of one rule in one file

  Hit& at(const Node& node, std::string detail = {}, std::string fix = {});
  Hit& at(const Assignment& assignment, std::string detail = {}, std::string fix = {});
  Hit& at(const Directive& directive, std::string detail = {}, std::string fix = {});
  Hit& root(std::string detail = {}, std::string fix = {});
  Hit& add(Hit hit);
  const std::vector<Hit>& all() const { return hits_; }
  bool empty() const { return hits_.empty(); }
  // No more are shown; a rule over many keys may stop looking.
  bool full() const { return hits_.size() >= kMaxHits; }

 private:
  std::vector<Hit> hits_;
};

using Check = std::function<void(const Input&, Hits&)>;

struct Rule {
  std::string_view id;
  Severity severity;
  std::uint32_t formats;
  Check check;
};

// Every rule, in the order of its folders. Built once.
const std::vector<Rule>& all_rules();

// Shapes that recur, as checks.
using Find = std::function<const Node*(const Input&)>;
// The value is present, a scalar, and not one of these (compared exactly, or after upper-casing).
Check bad_value(Find find, std::vector<std::string> allowed, bool ignore_case = false);
// Keys of a mapping that are not in the table; moved tells a better name than the nearest.
struct Moved {
  std::string_view from, to;
};
Check unknown_keys(Find mapping, std::vector<std::string> known, std::vector<Moved> moved = {},
                   std::vector<std::string> strip_prefixes = {});
// "unknown key 'x'; did you mean 'y'?" and the fix "write y".
void report_unknown(const Node& key, const std::string& bare, const std::vector<std::string>& known,
                    const std::vector<Moved>& moved, Hits& hits);

std::string quoted(std::string_view value);  // 'value', made safe to show, secrets masked

}  // namespace fx::knowledge
