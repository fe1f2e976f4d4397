// Finds many phrases in one pass over text (Aho-Corasick), ignoring ASCII case.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fx::knowledge {

class PhraseScanner {
 public:
  // Phrases in lower case, none empty, none with a line end. Fewer than 65,536 characters in all, else throws.
  explicit PhraseScanner(const std::vector<std::string>& phrases);

  // Calls found(phrase index) for every occurrence. Linear in text.
  template <class Found>
  void scan(std::string_view text, Found found) const {
    std::size_t state = 0;
    for (const char c : text) {
      state = next_[state * classes_ + class_of_[static_cast<unsigned char>(c)]];
      if (state >= first_accepting_) report(state, found);
    }
  }

 private:
  template <class Found>
  void report(std::size_t state, Found& found) const {
    for (const std::uint32_t phrase : accepted_[state - first_accepting_]) found(phrase);
  }

  std::array<std::uint8_t, 256> class_of_{};
  std::size_t classes_ = 1;
  std::size_t first_accepting_ = 0;  // states are numbered so that the accepting ones come last
  std::vector<std::uint16_t> next_;
  std::vector<std::vector<std::uint32_t>> accepted_;
};

}  // namespace fx::knowledge
