// The machine of a plan: a row of the GPU table, the arguments' own numbers, or this host's CPU.
#pragma once

#include "knowledge/plan/request.h"
#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

// Threads of a processor core: systems count threads, and virtual machines hide which of them share a core.
inline constexpr double kThreadsOfACore = 2;

// Errors at hardware.gpu when the name is unknown and memory or TFLOPs are not given.
Result<Machine> read_machine(const HardwareArgs& args);

}  // namespace fx::knowledge::plan
