// Optimizers, schedulers, gradient clipping, scalers, data loaders, seeds.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/library/functions.h"
#include "knowledge/code/models.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

Object* clip(Interpreter& run, const Call& call, const Known& known) {
  return note(run, call, known.kind, call.first == nullptr ? nullptr : model_in(call.first),
              value_of(run, call, known));
}

constexpr std::array kFunctions = {
    Known{"torch.nn.utils.clip_grad_norm_", clip, EventKind::kClip},
    Known{"torch.nn.utils.clip_grad_value_", clip, EventKind::kClip},
    Known{"torch.nn.utils.clip_grad_norm", clip, EventKind::kClip},
    Known{"torch.nn.utils.get_total_norm", clip, EventKind::kCall},
    Known{"torch.nn.utils.clip_grads_with_norm_", clip, EventKind::kCall},
    Known{"torch.manual_seed", about_nothing, EventKind::kSeed},
    Known{"torch.cuda.manual_seed", about_nothing, EventKind::kSeed},
    Known{"torch.cuda.manual_seed_all", about_nothing, EventKind::kSeed},
    Known{"transformers.set_seed", about_nothing, EventKind::kSeed},
    Known{"accelerate.utils.set_seed", about_nothing, EventKind::kSeed},
};

bool is_scheduler(std::string_view name, std::string_view last) {
  return name.starts_with("torch.optim.lr_scheduler.") || (last.starts_with("get_") && contains(last, "schedule"));
}

bool is_optimizer(std::string_view name, std::string_view last) {
  if (!is_class_like(name)) return false;
  if (name.starts_with("torch.optim.") || last == "SGD") return true;
  constexpr std::array<std::string_view, 6> kWords = {"Adam", "Lion", "Muon", "Optimizer", "Adafactor", "Shampoo"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return contains(last, word); }) &&
         !mentions(last, {"state", "config", "args", "option", "param"});
}

// kUnknown: none of them.
Type type_of(std::string_view name, std::string_view last) {
  if (last == "GradScaler" || last == "ShardedGradScaler") return Type::kScaler;
  if (last == "DistributedSampler" || name == "torchdata.stateful_dataloader.sampler.StatefulDistributedSampler")
    return Type::kSampler;
  if (last == "DataLoader" || last == "StatefulDataLoader") return Type::kLoader;
  return name == "accelerate.Accelerator" ? Type::kAccelerator : Type::kUnknown;
}

Object* optimizer(Interpreter& run, const Call& call) {
  Object* value = value_of(run, call, {call.name, nullptr, EventKind::kOptimizer, Type::kOptimizer});
  auto* model = const_cast<Object*>(model_in(call.first != nullptr ? call.first : main_of(call.given.get("params"))));
  if (model != nullptr) promote(model);
  return note(run, call, EventKind::kOptimizer, model, value);
}

}  // namespace

std::span<const Known> training_functions() {
  return kFunctions;
}

Object* training_class(Interpreter& run, const Call& call) {
  const std::string_view last = last_part(call.name);
  if (is_scheduler(call.name, last)) {
    Object* value = value_of(run, call, {call.name, nullptr, EventKind::kCall, Type::kScheduler});
    value->receiver = call.first;
    return note(run, call, EventKind::kCall, call.first, value);
  }
  if (is_optimizer(call.name, last)) return optimizer(run, call);
  const Type type = type_of(call.name, last);
  if (type == Type::kUnknown) return nullptr;
  Object* value = value_of(run, call, {call.name, nullptr, EventKind::kCall, type});
  // Without a sampler a loader is as long as its data.
  if (type == Type::kLoader && call.first != nullptr && call.given.find("sampler", 3) == nullptr)
    value->taints = static_cast<Taints>(call.first->taints & kUneven);
  return note(run, call, EventKind::kCall, call.first, value);
}

}  // namespace fx::knowledge::code
