// Reads how the training went: steps, losses, activity announcements.
#pragma once

#include <vector>

#include "knowledge/log/event.h"
#include "knowledge/log/log_book.h"

namespace fx::knowledge {

const std::vector<Mark>& progress_marks();
std::vector<StepEvent> read_steps(const LogBook& book);

}  // namespace fx::knowledge
