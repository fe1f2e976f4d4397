// The machine of a plan: a row of the GPU table, the arguments' own numbers, or this host's CPU.
#pragma once

#include "knowledge/plan/request.h"
#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

// Errors at hardware.gpu when the name is unknown and memory or TFLOPs are not given.
Result<Machine> read_machine(const HardwareArgs& args);

}  // namespace fx::knowledge::plan
