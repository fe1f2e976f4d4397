// What a run spec's fsdp fields mean for the step driver.
#pragma once

#include "engine/train/step.h"
#include "spec/run_spec.h"

namespace fx::engine {

// "fp32", "bf16" or "fp16"
at::ScalarType scalar_type(const std::string& dtype);
StepPolicy policy_of(const FsdpSpec& fsdp);

}  // namespace fx::engine
