// Makes a quoted log line safe to show to a model.
#pragma once

#include <string>

namespace fx::knowledge {

// A log is shown to models, too: marks of a chat's turns are broken up by a blank, and from a sentence on that orders
// its reader about the text is left out. Any other text comes back unchanged.
std::string harmless(std::string text);

}  // namespace fx::knowledge
