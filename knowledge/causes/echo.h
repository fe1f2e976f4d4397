// Tells an exception that only reports another one's end (a lost peer, a launcher's summary, a wrapper) from a fault of
// its own.
#pragma once

#include <string_view>

#include "knowledge/log/scene.h"

namespace fx::knowledge {

// low: the exception's own line in lower case.
bool is_echo(std::string_view low);

// A fault of its own (exception, GPU out of memory, killed process) on some rank before the given line: it explains why
// others waited there.
bool failed_before(const Scene& scene, int line);

}  // namespace fx::knowledge
