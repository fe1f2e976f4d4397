// Lines that programs print in every healthy run: advice, notices of deprecation, what a library falls back to. Their
// words (deadlock, freeze, hang, failed to connect) are no signs of what happened.
#pragma once

#include <string_view>
#include <vector>

#include "knowledge/log/mark.h"

namespace fx::knowledge {

// One mark, "chatter". A line that carries it carries no other mark but those of find_scope().
const std::vector<Mark>& chatter_marks();

// A row of "git log --oneline": somebody's words about his code.
bool is_commit(std::string_view line);

}  // namespace fx::knowledge
