// Input: one Python file, or several parts "=== name".
#include <nlohmann/json.hpp>

#include "tests/fuzz/tool_call.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fx::Json arguments = {{"files", fx::Json::array()}};
  for (const auto& [name, text] : fx::fuzz::parts_of(fx::fuzz::as_text(data, size))) {
    arguments["files"].push_back({{"name", name.empty() ? std::string_view("train.py") : name}, {"text", text}});
  }
  fx::fuzz::call("review_code", arguments);
  return 0;
}
