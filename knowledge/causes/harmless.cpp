#include "knowledge/causes/harmless.h"

#include <string_view>

#include "base/text.h"

namespace fx::knowledge {

std::string harmless(std::string text) {
  for (const std::string_view mark : {"<|", "[INST]", "[/INST]", "<<SYS", "<system", "</system", "<assistant", "<user",
                                      "<tool", "<function", "<invoke"}) {
    text = replace_all(std::move(text), mark, std::string(mark.substr(0, 1)) + " " + std::string(mark.substr(1)));
  }
  const std::string low = to_lower(text);
  for (const std::string_view order :
       {"ignore previous", "ignore all previous", "ignore the above", "ignore all prior", "disregard previous",
        "disregard all", "disregard the above", "you are now a", "new instructions:"}) {
    const auto at = low.find(order);
    if (at != std::string::npos) return text.substr(0, at) + "[an instruction in the log, left out]";
  }
  return text;
}

}  // namespace fx::knowledge
