// Where in a training step or around it a line stands, from the frames of its traceback and from what was announced
// before.
#pragma once

#include <string_view>
#include <vector>

#include "knowledge/log/log_book.h"

namespace fx::knowledge {

enum class Phase { kUnknown, kLoad, kForward, kLogits, kBackward, kOptimizer, kSave, kGenerate };
std::string_view to_string(Phase phase);

// One frame or code line (lower case); kUnknown when it says nothing.
Phase phase_of_code(std::string_view low);
// Innermost telling frame; frames are outermost first.
Phase phase_of_frames(const LogBook& book, const std::vector<int>& frames);
// The line of the innermost telling frame, -1 if none.
int telling_frame(const LogBook& book, const std::vector<int>& frames);
// Announcements ("Saving model checkpoint", "Loading checkpoint shards"); kUnknown when the line is none.
Phase phase_announced(std::string_view low);

}  // namespace fx::knowledge
