// Accumulation windows: when gradients are reduced, losses scaled, schedules stepped.
#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/accumulation.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

bool offloads_fsdp1(const Event& shard) {
  if (!shard.is(EventKind::kShard) || !ends_with_part(shard.callee, "FullyShardedDataParallel")) return false;
  const Object* offload = shard.argument("cpu_offload", 3);
  if (offload == nullptr || offload->made_by == nullptr) return false;
  const Object* on = main_of(offload->made_by->get("offload_params", 0));
  return on != nullptr && on->is_true();
}

bool is_offloaded_fsdp1(const Trace& trace, const Object* model) {
  for (const Event& event : trace.events) {
    if (offloads_fsdp1(event) && same_model(event.subject, model)) return true;
  }
  return false;
}

bool chooses_when_to_reduce(const Program& program) {
  for (const std::string_view name : {".no_sync", ".set_requires_gradient_sync", ".set_is_last_backward"}) {
    if (program.may_call(name)) return true;
  }
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kGradSync)) return true;
    }
  }
  return false;
}

bool switches_off(const Event& sync) {
  const Object* value = sync.argument("requires_gradient_sync", 0);
  return value != nullptr && value->is_false();
}

const Event* next_step(const Trace& trace, const Event& from) {
  for (std::uint32_t i = from.index + 1; i < trace.events.size(); ++i) {
    if (trace.events[i].is(EventKind::kStep) && compatible(trace.events[i], from)) return &trace.events[i];
  }
  return nullptr;
}

bool same_statement(const Event& a, const Event& b) {
  return a.guard != nullptr && b.guard != nullptr && a.guard->statement == b.guard->statement;
}

// Something switches the reduction on again, or may do so, before the step.
bool is_restored(const Trace& trace, const Event& off, const Event& step) {
  for (const Event& sync : trace.events) {
    if (!sync.is(EventKind::kGradSync) || switches_off(sync)) continue;
    if (!same_model(sync.subject, off.subject)) continue;
    if (sync.index > off.index && sync.index < step.index) return true;
    if (same_statement(sync, off) || off.guard != nullptr) return true;
  }
  return false;
}

bool backward_between(const Trace& trace, const Event& from, const Event& to) {
  for (std::uint32_t i = from.index + 1; i < to.index; ++i) {
    if (trace.events[i].is(EventKind::kBackward)) return true;
  }
  return false;
}

bool names_a_window(std::string_view text) {
  return contains_ignoring_case(text, "accum") || contains_ignoring_case(text, "micro") ||
         contains_ignoring_case(text, "grad_acc");
}

// A factor that is the window itself; not len(loader) // accum.
bool is_window(Node factor) {
  while (factor.is("parenthesized_expression")) factor = factor.first_child();
  return !factor.is("binary_operator") && names_a_window(factor.text());
}

// updates * accum: a number of microbatches.
bool multiplied_by_window(const Object* value) {
  return made_from(value, [](const Object& object) {
    return object.node.is("binary_operator") && object.node.child("operator").is("*") &&
           (is_window(object.node.child("left")) || is_window(object.node.child("right")));
  });
}

// A schedule whose length is the number of microbatches: stepping it on each of them is meant.
bool counts_microbatches(const Object* scheduler) {
  scheduler = core_of(scheduler);
  if (scheduler == nullptr || scheduler->made_by == nullptr) return false;
  bool length = false, divided = false;
  for (const Argument& argument : scheduler->made_by->list) {
    const std::string_view text = argument.node.text();
    if (multiplied_by_window(argument.value) || (argument.value->function != nullptr && names_a_window(text)))
      return true;
    divided |= contains(text, "/") || contains_operator(argument.value, "/") || contains_operator(argument.value, "//");
    length |= contains(text, "len(") || contains_ignoring_case(text, "micro") ||
              made_from(argument.value, [](const Object& object) { return object.callee == "len"; });
  }
  return length && !divided;
}

// The loss that is differentiated: what backward() is called on, or what accelerator and scaler were given.
const Object* loss_of(const Event& backward) {
  const Object* loss = main_of(backward.receiver);
  if (loss != nullptr && loss->callee == ".scale" && loss->made_by != nullptr)
    return main_of(loss->made_by->get("outputs", 0));
  return loss;
}

bool names_a_loss(std::string_view name) {
  return contains_ignoring_case(name, "loss") || contains_ignoring_case(name, "criterion") ||
         contains_ignoring_case(name, "objective");
}

bool is_mean_of_torch(const Object& criterion) {
  if (!criterion.callee.starts_with("torch.nn.") || !contains(last_part(criterion.callee), "Loss") ||
      !criterion.made_by)
    return false;
  const Object* reduction = criterion.made_by->get("reduction");
  return reduction == nullptr || is_constant_text(reduction, "mean");
}

// What a model that was not sent gives, itself or in its output.
bool is_output(const Object& object) {
  return object.callee == "()" && object.receiver != nullptr && object.receiver->type == Type::kModel &&
         core_of(object.receiver)->of_class == nullptr;
}

// Told a number to divide by, it may scale.
bool may_scale(const Arguments& given) {
  for (const Argument& argument : given.list) {
    if (argument.name == "*" || argument.name == "**") return true;
    for (const std::string_view word :
         {"accum", "num_items", "num_tok", "total", "denom", "scale", "world", "count", "reduc"}) {
      if (contains_ignoring_case(argument.node.text(), word)) return true;
    }
  }
  return false;
}

// A loss function that was not sent, of what a model gave.
bool is_foreign_loss(const Object& object) {
  if (object.made_by == nullptr || may_scale(*object.made_by)) return false;
  const bool function = object.callee.find('.') != 0 && object.callee != "()" && !object.callee.starts_with("torch.") &&
                        object.callee.size() > 2 &&
                        (names_a_loss(last_part(object.callee)) || names_a_loss(object.name));
  const bool held = object.callee == "()" && object.receiver != nullptr && object.receiver->type == Type::kUnknown &&
                    names_a_loss(object.receiver->name);
  if (!function && !held) return false;
  return std::ranges::any_of(object.made_by->list,
                             [](const Argument& given) { return made_from(given.value, is_output); });
}

bool is_given_by_pretrained(const Object& object) {
  return ends_with_part(object.callee, "from_pretrained");
}

// A loss function's mean, or the loss that a model gives with its output.
bool is_mean_loss(const Object& object) {
  if (object.callee == ".mean" || object.callee == "torch.mean") return true;
  if (object.name == "loss" && object.parent != nullptr && object.callee.empty())
    return made_from(object.parent, is_given_by_pretrained) || made_from(object.parent, is_output);
  if (object.callee == "()" && object.receiver != nullptr && is_mean_of_torch(*object.receiver)) return true;
  if (is_foreign_loss(object) || (is_output(object) && names_a_loss(object.name))) return true;
  const std::string_view name = last_part(object.callee);
  const bool named = name.ends_with("_loss") || name == "cross_entropy" || name.starts_with("binary_cross_entropy");
  if (!named || object.made_by == nullptr || !object.callee.starts_with("torch.nn.functional.")) return false;
  const Object* reduction = object.made_by->get("reduction");
  return reduction == nullptr || is_constant_text(reduction, "mean");
}

// 0.5 * (a + b), (a + b) / 2: the mean of two losses; the sum. nullptr: something else.
const Object* sum_that_is_halved(const Object& object) {
  if ((object.callee != "*" && object.callee != "/") || object.made_by == nullptr || object.made_by->list.size() != 2)
    return nullptr;
  const bool product = object.callee == "*";
  for (const std::size_t place : {std::size_t{1}, std::size_t{0}}) {
    const Argument& factor = object.made_by->list[place];
    const Object* sum = main_of(object.made_by->list[1 - place].value);
    const bool half = main_of(factor.value)->number == (product ? 0.5 : 2) &&
                      (factor.node.is("float") || factor.node.is("integer"));  // written here: no scale from elsewhere
    if (half && sum->callee == "+" && (product || place == 1)) return sum;
  }
  return nullptr;
}

bool scales(const Object& object) {
  for (const std::string_view sign :
       {"/", "*", "/=", "*=", ".div", ".div_", ".mul", ".mul_", ".sum", "torch.div", "torch.mul"}) {
    if (object.callee == sign) return true;
  }
  return false;
}

bool scales_elsewhere(const Program& program) {
  for (const std::string_view name : {".set_gradient_divide_factor", ".set_reduce_scatter_divide_factor", ".div_",
                                      ".mul_", "torch._foreach_div_", "torch._foreach_mul_"}) {
    if (program.may_call(name)) return true;
  }
  for (const Trace& trace : program.traces()) {  // p.grad /= n
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kOperator) && (event.callee == "/=" || event.callee == "*=") &&
          event.node.child("left").child("attribute").text() == "grad")
        return true;
    }
  }
  return false;
}

bool is_layer_output(const Object& object) {
  const Object* layer = object.callee == "()" ? core_of(object.receiver) : nullptr;
  return layer != nullptr && is_leaf_layer(*layer);
}

// Between the mean and the backward call nothing multiplies or divides. Bounded: long sums are not followed to their
// end.
bool is_unscaled_mean(const Object* loss, int& budget) {
  if (loss == nullptr || --budget < 0) return false;
  if (loss->type == Type::kUnion) {
    bool means = false;
    for (const Object* one : alternatives(loss)) {
      if (is_layer_output(*one)) continue;  // scores without a label: nobody differentiates those
      if (!is_unscaled_mean(one, budget)) return false;
      means = true;
    }
    return means;
  }
  if (const Object* sum = sum_that_is_halved(*loss)) return is_unscaled_mean(sum, budget);
  if (scales(*loss)) return false;
  if (is_mean_loss(*loss)) return true;
  // The loss that a model of the files gives.
  if (loss->callee == "()" && loss->items.size() == 1) return is_unscaled_mean(loss->items.front(), budget);
  if ((loss->callee == "+" || loss->callee == "-") && loss->made_by != nullptr) {
    for (const Argument& operand : loss->made_by->list) {
      if (is_unscaled_mean(operand.value, budget)) return true;
    }
    return false;
  }
  return is_unscaled_mean(loss->receiver, budget);
}

// with sync_context(model, last): not sent, but named for what it does.
bool in_a_sync_manager(const Event& backward) {
  for (const Context* context = backward.context; context != nullptr; context = context->outer) {
    if (contains_ignoring_case(last_part(context->callee), "sync")) return true;
  }
  return false;
}

}  // namespace

void accum_syncs_every_microbatch(const Program& program, Findings& findings) {
  if (program.uses_accelerate() || chooses_when_to_reduce(program)) return;
  for (const Trace& trace : program.traces()) {
    for (const Window& window : accumulation_windows(trace)) {
      const Object* model = trained_model(trace, *window.backward);
      const Sharding sharding = sharding_of(trace, model);
      if (sharding != Sharding::kFsdp1 && sharding != Sharding::kFsdp2) continue;
      if (!is_offloaded_fsdp1(trace, model) && !in_a_sync_manager(*window.backward)) findings.at(*window.backward);
    }
  }
}

void fsdp1_offload_accum(const Program& program, Findings& findings) {
  if (program.may_call(".no_sync")) return;
  for (const Trace& trace : program.traces()) {
    for (const Window& window : accumulation_windows(trace)) {
      if (is_offloaded_fsdp1(trace, trained_model(trace, *window.backward))) findings.at(*window.backward);
    }
  }
}

void grad_sync_never_restored(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& off : trace.events) {
      if (!off.is(EventKind::kGradSync) || off.pass != 1 || !switches_off(off)) continue;
      const Event* step = next_step(trace, off);
      if (step == nullptr || !backward_between(trace, off, *step) || is_restored(trace, off, *step)) continue;
      findings.at(off, "The optimizer steps before anything switches the reduction on again.");
    }
  }
}

namespace {

// scheduler.step(cur_step=i): the caller says where it is, by a count of its own.
bool is_told_where(const Event& step) {
  if (step.arguments == nullptr) return false;
  return std::ranges::any_of(step.arguments->list, [](const Argument& given) {
    return mentions(given.node.text(), {"step", "iter", "epoch", "progress"});
  });
}

}  // namespace

void scheduler_per_microbatch(const Program& program, Findings& findings) {
  if (program.uses_accelerate()) return;
  for (const Trace& trace : program.traces()) {
    for (const Window& window : accumulation_windows(trace)) {
      for (const Event& event : trace.events) {
        if (event.is(EventKind::kSchedulerStep) && in_every_microbatch(window, event) &&
            !counts_microbatches(event.subject) && !is_told_where(event))
          findings.at(event, "The optimizer steps once per window, the schedule in every microbatch.");
      }
    }
  }
}

void accum_loss_not_scaled(const Program& program, Findings& findings) {
  if (program.uses_accelerate() || scales_elsewhere(program)) return;
  for (const Trace& trace : program.traces()) {
    for (const Window& window : accumulation_windows(trace)) {
      int budget = 200;
      if (is_unscaled_mean(loss_of(*window.backward), budget)) findings.at(*window.backward);
    }
  }
}

}  // namespace fx::knowledge::checks
