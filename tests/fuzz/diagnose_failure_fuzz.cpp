// Input: one log, or several parts "=== name"; the part "config" is the job's settings as text.
#include <nlohmann/json.hpp>

#include "tests/fuzz/tool_call.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fx::Json arguments = {{"logs", fx::Json::array()}};
  for (const auto& [name, text] : fx::fuzz::parts_of(fx::fuzz::as_text(data, size))) {
    if (name == "config") {
      arguments["config"] = text;
    } else {
      arguments["logs"].push_back({{"name", name}, {"text", text}});
    }
  }
  fx::fuzz::call("diagnose_failure", arguments);
  return 0;
}
