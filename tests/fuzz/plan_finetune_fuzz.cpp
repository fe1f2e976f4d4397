// Input: the arguments as JSON text.
#include <nlohmann/json.hpp>

#include "tests/fuzz/tool_call.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto arguments = fx::parse_json(fx::fuzz::as_text(data, size));
  if (!arguments) return -1;
  fx::fuzz::call("plan_finetune", *arguments);
  return 0;
}
