// Input: a chunk size, then a log, fed in chunks of that size. The lines kept must not depend on the chunks; then the
// log is diagnosed, without the other tools, so that this target builds quickly.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "knowledge/causes/catalogue.h"
#include "knowledge/causes/diagnose.h"
#include "knowledge/log/log_reader.h"

namespace {

fx::knowledge::LogBook read(std::string_view text, std::size_t chunk) {
  fx::knowledge::LogLimits limits;
  limits.whole_lines = 20;
  limits.kept_lines = 200;
  fx::knowledge::LogReader reader(fx::knowledge::cause_marks(), limits);
  reader.begin("rank_1.log");
  for (std::size_t at = 0; at < text.size(); at += chunk) reader.feed(text.substr(at, chunk));
  return reader.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return -1;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto pieces = read(text, data[0] + std::size_t{1});
  const auto whole = read(text, text.size() + 1);
  if (pieces.lines.size() != whole.lines.size()) std::abort();
  for (std::size_t i = 0; i < whole.lines.size(); ++i) {
    if (pieces.lines[i].text != whole.lines[i].text) std::abort();
  }
  const auto diagnosis = fx::knowledge::diagnose(fx::knowledge::make_scene(read(text, text.size() + 1), {}));
  if (diagnosis.verdict == fx::Verdict::kFailure && diagnosis.causes.empty()) std::abort();
  return 0;
}
