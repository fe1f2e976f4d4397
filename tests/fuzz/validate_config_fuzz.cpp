// Input: the file's text; a first line "=== name" gives its name.
#include <nlohmann/json.hpp>

#include "tests/fuzz/tool_call.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [name, text] = fx::fuzz::parts_of(fx::fuzz::as_text(data, size)).front();
  fx::Json arguments = {{"text", text}};
  if (!name.empty()) arguments["filename"] = name;
  fx::fuzz::call("validate_config", arguments);
  return 0;
}
