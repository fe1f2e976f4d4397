// Calls a tool of the catalogue as its clients do and ends the process when the answer is our own fault.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/json.h"

namespace fx::fuzz {

// Aborts when the tool answers with an internal error or with text that is no JSON.
void call(std::string_view tool, const Json& arguments);

// The parts of an input: a line "=== name" begins a part; what stands before the first has the name "".
std::vector<std::pair<std::string_view, std::string_view>> parts_of(std::string_view input);

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace fx::fuzz
