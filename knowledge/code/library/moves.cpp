// Methods by which modules, tensors and batches go to another device, dtype or mode.
#include <array>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/methods.h"

namespace fx::knowledge::code {
namespace {

Object* give_back(Interpreter& run, const Call& call, const Known& known) {
  note(run, call, known.kind, call.receiver, call.receiver);
  return call.whole;
}

constexpr auto kMove = EventKind::kMove;
constexpr std::array kMethods = {
    Known{"to", give_back, kMove},
    Known{"cuda", give_back, kMove},
    Known{"cpu", give_back, kMove},
    Known{"half", give_back, kMove},
    Known{"float", give_back, kMove},
    Known{"bfloat16", give_back, kMove},
    Known{"double", give_back, kMove},
    Known{"xpu", give_back, kMove},
    Known{"npu", give_back, kMove},
    Known{"type", give_back, kMove},
    Known{"share_memory", give_back, kMove},
    Known{"train", give_back, EventKind::kTrainMode},
    Known{"eval", give_back, EventKind::kTrainMode},
    Known{"requires_grad_", give_back},
};

}  // namespace

std::span<const Known> methods_that_give_back() {
  return kMethods;
}

}  // namespace fx::knowledge::code
