// A name of the grammar in our code: a number, made when the code is compiled, that is compared in place of the text.
#pragma once

#include <cstdint>
#include <string_view>

namespace fx::knowledge::python {

// Differs for all names of the grammar (a test looks).
constexpr std::uint32_t mark_of(std::string_view name) {
  std::uint32_t mark = 2166136261u;  // FNV-1a
  for (const char c : name) mark = (mark ^ static_cast<unsigned char>(c)) * 16777619u;
  return mark;
}

// Made of literals only: node.is("call"), node.child("left").
class GrammarName {
 public:
  consteval GrammarName(const char* name) : mark_(mark_of(name)) {}
  std::uint32_t mark() const { return mark_; }

 private:
  std::uint32_t mark_;
};

}  // namespace fx::knowledge::python
