// Reads how processes ended: torchrun, accelerate, DeepSpeed, Slurm, multiprocessing, Lightning, Ray, and our
// supervisor.
#pragma once

#include <vector>

#include "knowledge/log/event.h"
#include "knowledge/log/log_book.h"

namespace fx::knowledge {

const std::vector<Mark>& exit_marks();
std::vector<ProcessExit> read_exits(const LogBook& book);

}  // namespace fx::knowledge
