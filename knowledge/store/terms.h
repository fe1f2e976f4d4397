// Text to search terms, the same way for what is stored and for what is asked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fx::knowledge {

// Lower-case terms of [a-z0-9] or CJK characters, in order, any bytes accepted:
//   "--fsdp-cpu-offload", "fsdp_cpu_offload" -> fsdpcpuoffload fsdp cpu offload   (an identifier whole and split)
//   "UpdateWeightFromTensor" -> updateweightfromtensor update weight from tensor
//   "FSDP2" -> fsdp2 fsdp;  "gør" -> gor;  "显存不足" -> 显存 存不 不足               (CJK as bigrams)
std::vector<std::string> terms(std::string_view text);

// Terms joined by blanks, as the index stores them.
std::string term_text(std::string_view text);

// Folded text for phrase look-ups: words in lower case without diacritics, one blank between words and around the
// whole, CJK characters unchanged: " weight sync hangs ".
std::string fold_phrase(std::string_view text);

}  // namespace fx::knowledge
