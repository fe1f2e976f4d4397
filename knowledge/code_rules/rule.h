// A rule about code: an id, a severity and a predicate over the program. Its words are on its page, <id>.md beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/code/program.h"
#include "spec/finding.h"

namespace fx::knowledge {

struct CodeHit {
  const code::SourceFile* file = nullptr;
  int line = 1, column = 1;
  std::string detail;  // what this code does, in front of the page's text; quotes input only through quote_input()
};

// Collects the hits of one rule. The same place twice counts once.
class Findings {
 public:
  void at(const code::Event& event, std::string detail = {});
  void at(const code::SourceFile* file, code::Node node, std::string detail = {});
  const std::vector<CodeHit>& all() const { return hits_; }

 private:
  std::vector<CodeHit> hits_;
};

using CodeCheck = void (*)(const code::Program&, Findings&);

struct CodeRule {
  std::string_view id;
  Severity severity;
  CodeCheck check;
};

// Every rule, in the order of the sections. Built once.
const std::vector<CodeRule>& code_rules();

}  // namespace fx::knowledge
