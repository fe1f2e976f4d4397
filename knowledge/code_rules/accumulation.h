// Gradient accumulation: several backward passes before one optimizer step.
#pragma once

#include <vector>

#include "knowledge/code/program.h"

namespace fx::knowledge::code {

struct Window {
  const Event* backward = nullptr;  // of a microbatch, first turn
  const Event* step = nullptr;      // the step that ends the window
  const Loop* loop = nullptr;       // a turn is a microbatch
  const Guard* boundary = nullptr;  // the condition of the step; nullptr: the step comes after the loop
};

// The windows of a trace, in the order of their backward calls.
std::vector<Window> accumulation_windows(const Trace& trace);

// Happens in every microbatch: in the loop, under no condition that the backward call is not under.
bool in_every_microbatch(const Window& window, const Event& event);

// The model an optimizer steps, as far as the trace shows its construction.
const Object* model_of_optimizer(const Trace& trace, const Object* optimizer);
// The model whose gradients a backward call fills: that of the step behind it, else of the last forward before it.
const Object* trained_model(const Trace& trace, const Event& backward);

}  // namespace fx::knowledge::code
