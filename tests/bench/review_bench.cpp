// How much CPU time one review takes, in process: best and median of 21 calls of the tool, in milliseconds, as JSON.
// Usage: review_bench FILE.py...   one request a file, so that the time belongs to its lines.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "knowledge/content.h"
#include "knowledge/store/store.h"
#include "tools/review_code.h"
#include "tools/run_service.h"

namespace {

class NoRuns : public fx::tools::RunService {
 public:
  fx::Result<fx::tools::RunRecord> launch(const std::string&, const std::string&, bool) override { return none(); }
  fx::Result<fx::tools::RunRecord> get(const std::string&) override { return none(); }
  std::vector<fx::tools::RunRecord> list(std::size_t) override { return {}; }
  fx::Result<fx::tools::RunRecord> stop(const std::string&) override { return none(); }

 private:
  static fx::Error none() { return fx::unavailable("a review starts no run"); }
};

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

struct Times {
  double best = 0, median = 0;
  std::size_t findings = 0;
};

Times review(const fx::Json& arguments, fx::tools::ToolContext& context) {
  constexpr int kCalls = 21;
  const fx::tools::Tool tool = fx::tools::review_code_tool();
  std::vector<double> all;
  std::size_t findings = 0;
  for (int i = 0; i < kCalls; ++i) {
    const double began = cpu_ms();
    const auto answer = tool.handler(arguments, context);
    all.push_back(cpu_ms() - began);
    if (answer) findings = (*answer)["findings"].size();
  }
  std::ranges::sort(all);
  return {all.front(), all[all.size() / 2], findings};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: review_bench FILE.py...\n");
    return 2;
  }
  fx::knowledge::Store store{"/dev/null/none", fx::knowledge::embedded_content()};
  NoRuns runs;
  fx::tools::ToolContext context{store, runs};
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const fx::Json arguments = {{"files", {{{"name", "train.py"}, {"text", text}}}}};
    const Times times = review(arguments, context);
    const fx::Json line = {{"file", argv[i]},
                           {"lines", std::ranges::count(text, '\n')},
                           {"findings", times.findings},
                           {"best_ms", times.best},
                           {"median_ms", times.median}};
    std::printf("%s\n", line.dump().c_str());
  }
  return 0;
}
