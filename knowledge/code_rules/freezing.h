// Which parameters train: what switches requires_grad off and on again.
#pragma once

#include <optional>

#include "knowledge/code/program.h"

namespace fx::knowledge {

// module.requires_grad_(...), or the same for each of its parameters in a loop.
struct GradSwitch {
  const code::Object* module = nullptr;  // whose parameters are meant; nullptr: no such statement
  std::optional<bool> on;                // nothing: a value decides, "bias" in name
};
GradSwitch grad_switch(const code::Event& event);

// It is about the model or parts of it. What a value decides counts as off.
bool sets_requires_grad(const code::Event& event, const code::Object* model, bool on);

}  // namespace fx::knowledge
