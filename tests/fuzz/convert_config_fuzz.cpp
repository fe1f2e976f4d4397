// Input: a first byte chooses the target and the FSDP version; the rest is as for validate_config.
#include <array>
#include <nlohmann/json.hpp>

#include "tests/fuzz/tool_call.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::array<const char*, 7> targets = {"accelerate",  "axolotl",     "torchtitan", "trainer",
                                                         "trainer-cli", "fsdp-config", "run-spec"};
  if (size == 0) return 0;
  const auto [name, text] = fx::fuzz::parts_of(fx::fuzz::as_text(data + 1, size - 1)).front();
  fx::Json arguments = {{"text", text}, {"to", targets[data[0] % targets.size()]}};
  if (const int version = data[0] / 7 % 3; version > 0) arguments["fsdp_version"] = version;
  if (!name.empty()) arguments["filename"] = name;
  fx::fuzz::call("convert_config", arguments);
  return 0;
}
