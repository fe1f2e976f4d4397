#include "tests/fuzz/tool_call.h"

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "knowledge/content.h"
#include "knowledge/store/store.h"
#include "tools/catalogue.h"
#include "tools/run_service.h"

namespace fx::fuzz {
namespace {

// The tools that are fuzzed start no run.
class NoRuns : public tools::RunService {
 public:
  Result<tools::RunRecord> launch(const std::string&, const std::string&, bool) override { return none(); }
  Result<tools::RunRecord> get(const std::string&) override { return none(); }
  std::vector<tools::RunRecord> list(std::size_t) override { return {}; }
  Result<tools::RunRecord> stop(const std::string&) override { return none(); }

 private:
  static Error none() { return unavailable("there are no runs while fuzzing"); }
};

struct Program {
  std::vector<tools::Tool> catalogue = tools::make_catalogue();
  knowledge::Store store{"/dev/null/none", knowledge::embedded_content()};
  NoRuns runs;
  tools::ToolContext context{store, runs};
};

[[noreturn]] void fail(std::string_view tool, std::string_view why) {
  std::cerr << "fuzz: " << tool << ": " << why << '\n';
  std::abort();
}

}  // namespace

void call(std::string_view tool, const Json& arguments) {
  static Program program;
  const tools::Tool* found = tools::find_tool(program.catalogue, tool);
  if (found == nullptr) fail(tool, "no such tool");
  const auto answer = tools::call_tool(*found, arguments, program.context);
  if (!answer) {
    if (answer.error().code == ErrorCode::kInternal) fail(tool, to_line(answer.error()));
    return;
  }
  const auto back = Json::parse(to_text(*answer), nullptr, false);
  if (back.is_discarded()) fail(tool, "the answer is no JSON");
}

std::vector<std::pair<std::string_view, std::string_view>> parts_of(std::string_view input) {
  constexpr std::string_view kHead = "=== ";
  std::vector<std::pair<std::string_view, std::string_view>> out;
  std::string_view name;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < input.size();) {
    const auto line_end = std::min(input.find('\n', at), input.size());
    const auto next = std::min(line_end + 1, input.size());
    if (input.substr(at, kHead.size()) == kHead) {
      if (at > begin || !name.empty()) out.emplace_back(name, input.substr(begin, at - begin));
      name = input.substr(at + kHead.size(), line_end - at - kHead.size());
      begin = next;
    }
    at = next;
  }
  out.emplace_back(name, input.substr(begin));
  return out;
}

}  // namespace fx::fuzz
