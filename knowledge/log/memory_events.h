// Reads the GPU allocator's out-of-memory lines with all their figures.
#pragma once

#include <vector>

#include "knowledge/log/event.h"
#include "knowledge/log/log_book.h"

namespace fx::knowledge {

const std::vector<Mark>& memory_marks();
std::vector<GpuOom> read_gpu_ooms(const LogBook& book);

}  // namespace fx::knowledge
