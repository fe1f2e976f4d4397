// Which rank reads which rows, and in which order: samplers and their epochs.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/origin.h"
#include "knowledge/code_rules/rank_shares.h"

namespace fx::knowledge::checks {
namespace {

using namespace code;

// A sampler of the files that knows nothing of ranks; what a base does that was not sent is not known.
bool is_own_sampler_of_everything(const Program& program, const Object& sampler) {
  const Class& of = *sampler.of_class;
  const bool seen = std::ranges::all_of(of.bases, [](std::string_view base) {
    return base.find('.') == std::string_view::npos || base == "torch.utils.data.Sampler" ||
           base == "torch.utils.data.sampler.Sampler";
  });
  return seen && of.base_classes.size() + 1 >= of.bases.size() && !mentions_ranks(program, of) &&
         !may_be_split(sampler);
}

// Weighted or not; a subset may be this rank's.
bool is_random(const Object& sampler) {
  return sampler.callee.ends_with("RandomSampler") && !ends_with_part(sampler.callee, "SubsetRandomSampler") &&
         sampler.made_by != nullptr && !depends_on_rank(&sampler);
}

// It draws from the whole data set, for every rank alike.
bool covers_everything(const Program& program, const Object* sampler, int depth) {
  for (const Object* one : alternatives(sampler)) {
    if (one->type == Type::kNone) continue;
    if (one->of_class != nullptr ? is_own_sampler_of_everything(program, *one)
                                 : is_random(*one) || ends_with_part(one->callee, "SequentialSampler"))
      continue;
    const bool batches = ends_with_part(one->callee, "BatchSampler") && one->made_by != nullptr && depth > 0;
    if (!batches || !covers_everything(program, one->made_by->get("sampler", 0), depth - 1)) return false;
  }
  return true;
}

// A sampler over the whole data set, or none.
bool reads_everything(const Program& program, const Object& loader) {
  if (loader.made_by->has_unknown()) return false;
  const Object* batches = main_of(loader.made_by->get("batch_sampler", 4));
  return covers_everything(program,
                           batches != nullptr && batches->type != Type::kNone ? loader.made_by->get("batch_sampler", 4)
                                                                              : loader.made_by->get("sampler", 3),
                           1);
}

bool is_map_style(const Object& loader) {
  const Object* dataset = main_of(loader.made_by->get("dataset", 0));
  if (dataset == nullptr || (dataset->of_class != nullptr && dataset->of_class->is_iterable_dataset)) return false;
  if (dataset->of_class != nullptr && dataset->of_class->is_dataset) return true;
  if (ends_with_part(dataset->callee, "TensorDataset") || loader.made_by->find("sampler", 3) != nullptr ||
      loader.made_by->find("batch_sampler", 4) != nullptr)
    return true;
  const Object* shuffle = main_of(loader.made_by->get("shuffle", 2));
  return shuffle != nullptr && shuffle->is_true();
}

// range(len(loader)) gives no batches.
bool loops_over(const Loop& loop, const Object* loader) {
  return loop.iterable != nullptr && loop.iterable->callee != "range" && made_from(loop.iterable, core_of(loader));
}

// The loader itself, or what enumerate(), zip() and islice() make of it.
bool is_over(const Object* iterable, const Object& loader) {
  const Object* over = main_of(iterable);
  if (over == nullptr) return false;
  if (over == &loader || (over->type == Type::kLoader && over->made_by == loader.made_by)) return true;
  if (over->callee != "enumerate" && over->callee != "zip") return false;
  return std::ranges::any_of(over->items, [&](const Object* item) { return is_over(item, loader); });
}

// The loop is inside of a generator and the pass is not: it drives the loop that asks the generator.
bool drives_a_generator(const Program& program, const Loop& loop, const Loop& pass) {
  return std::ranges::any_of(program.functions(), [&](const Function& function) {
    const Node body = function.node;
    const auto holds = [&](const Loop& some) {
      return some.file == function.file && some.node.begin() >= body.begin() && some.node.end() <= body.end();
    };
    return function.is_generator && holds(loop) && !holds(pass);
  });
}

// The loop around all passes of the loader; nullptr: none. A loop that consumes a generator over the loader is one
// pass, whatever loops the generator has inside.
const Loop* epoch_loop(const Program& program, const Trace& trace, const Object& loader) {
  for (const Event& backward : trace.events) {
    if (!backward.is(EventKind::kBackward)) continue;
    const Loop* pass = nullptr;
    for (const Loop* loop = backward.loop; loop != nullptr; loop = loop->outer) {
      if (is_over(loop->iterable, loader)) {
        pass = loop;
        break;
      }
      if (pass == nullptr && loops_over(*loop, &loader)) pass = loop;
    }
    if (pass == nullptr) continue;
    const Loop* outer = pass->outer;
    while (outer != nullptr &&
           (loops_over(*outer, &loader) || (outer->outer != nullptr && drives_a_generator(program, *outer, *pass))))
      outer = outer->outer;
    return outer;
  }
  return nullptr;
}

// The loop that trains on this loader: it runs a backward pass in its turns.
const Loop* training_loop_over(const Trace& trace, const Object* loader) {
  for (const Event& backward : trace.events) {
    if (!backward.is(EventKind::kBackward)) continue;
    for (const Loop* loop = backward.loop; loop != nullptr; loop = loop->outer) {
      if (loops_over(*loop, loader)) return loop;
    }
  }
  return nullptr;
}

// next(iterator) in the loop that trains.
bool feeds_by_next(const Trace& trace, const Object* loader) {
  for (const Event& next : trace.events) {
    if (next.callee != "next" || next.loop == nullptr || next.arguments == nullptr || next.arguments->list.empty())
      continue;
    if (!made_from(next.arguments->list.front().value, core_of(loader))) continue;
    for (const Event& backward : trace.events) {
      if (backward.is(EventKind::kBackward) && inside(backward, next.loop)) return true;
    }
  }
  return false;
}

bool batches_are_split(const Trace& trace, const Loop& loop) {
  for (std::uint32_t i = loop.begin; i < loop.end && i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (!event.is(EventKind::kForward) || event.arguments == nullptr) continue;
    for (const Argument& argument : event.arguments->list) {
      if (argument.value->has(kRank | kUneven)) return true;
    }
  }
  return false;
}

bool runs_once(const Loop& loop) {
  const Object* range = main_of(loop.iterable);
  if (range == nullptr || range->callee != "range" || range->made_by == nullptr || range->made_by->list.size() != 1)
    return false;
  const Object* count = main_of(range->made_by->list.front().value);
  return count->type == Type::kNumber && count->constant && count->number <= 1;
}

bool shuffles(const Object& sampler) {
  const Object* shuffle = main_of(sampler.made_by == nullptr ? nullptr : sampler.made_by->get("shuffle", 3));
  return shuffle == nullptr || shuffle->is_true();
}

// nullptr: it has none.
const Object* shuffling_sampler_of(const Object& loader) {
  const Object* sampler = core_of(loader.made_by->get("sampler", 3));
  return sampler != nullptr && is_sharding_sampler(*sampler) && shuffles(*sampler) ? sampler : nullptr;
}

// The loop around passes over a loader that somebody else built: for batch in self.data_loader. nullptr: none.
const Loop* epochs_over_a_given_loader(const Trace& trace) {
  for (const Event& backward : trace.events) {
    if (!backward.is(EventKind::kBackward)) continue;
    for (const Loop* loop = backward.loop; loop != nullptr; loop = loop->outer) {
      const Object* over = main_of(loop->iterable);
      if (over != nullptr && over->callee == "enumerate" && over->items.size() > 1) over = main_of(over->items[1]);
      if (over == nullptr || over->made_by != nullptr || !contains_ignoring_case(over->name, "loader")) continue;
      const bool unseen = over->type == Type::kLoader || over->type == Type::kUnknown;
      if (unseen && loop->outer != nullptr) return loop->outer;
    }
  }
  return nullptr;
}

// sampler.epoch = epoch: what set_epoch does.
bool sets_the_epoch(const Program& program) {
  return std::ranges::any_of(program.traces(), [](const Trace& trace) {
    return trace.has(EventKind::kSetAttribute) && std::ranges::any_of(trace.events, [](const Event& event) {
             return event.is(EventKind::kSetAttribute) && event.callee == "epoch" && event.receiver != nullptr &&
                    (is_sharding_sampler(*event.receiver) || event.receiver->type == Type::kSampler);
           });
  });
}

// fabric.setup_dataloaders(loader), prepare_data_loader(loader): puts a sampler in.
bool is_split_by_a_library(const Trace& trace, const Object* loader) {
  return std::ranges::any_of(trace.events, [&](const Event& event) {
    if (event.arguments == nullptr) return false;
    const std::string_view name = last_part(event.callee);
    const bool prepares = event.is(EventKind::kPrepare) ||
                          (contains(name, "loader") && (contains(name, "setup") || contains(name, "prepare")));
    return prepares && std::ranges::any_of(event.arguments->list, [&](const Argument& argument) {
             return core_of(argument.value) == core_of(loader);
           });
  });
}

}  // namespace

void no_distributed_sampler(const Program& program, Findings& findings) {
  if (program.uses_accelerate()) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& made : trace.events) {
      const Object* loader = made.result;
      if (!is_loader(loader) || loader->node != made.node || !reads_everything(program, *loader) ||
          !is_map_style(*loader))
        continue;
      if (depends_on_rank(dataset_of(*loader)) || depends_on_rank(loader->made_by->get("generator"))) continue;
      if (is_split_by_a_library(trace, loader)) continue;
      const Loop* loop = training_loop_over(trace, loader);
      if (loop != nullptr ? !batches_are_split(trace, *loop) : feeds_by_next(trace, loader)) findings.at(made);
    }
  }
}

void missing_set_epoch(const Program& program, Findings& findings) {
  if (program.may_call(".set_epoch") || program.uses_accelerate() || sets_the_epoch(program)) return;
  bool shuffled = false, others = false;  // the loaders of the request that may be the training one
  for (const Trace& trace : program.traces()) {
    for (const Event& made : trace.events) {
      const Object* loader = made.result;
      if (!is_loader(loader) || loader->node != made.node) continue;
      const Object* sampler = shuffling_sampler_of(*loader);
      const Object* order = main_of(loader->made_by->get("shuffle", 2));
      shuffled |= sampler != nullptr;
      others |= sampler == nullptr && order != nullptr && order->is_true();
      if (sampler == nullptr) continue;
      const Loop* epochs = epoch_loop(program, trace, *loader);
      if (epochs == nullptr || runs_once(*epochs)) continue;
      const bool seeded_anew =
          sampler->created >= static_cast<int>(epochs->begin) && sampler->made_by->find("seed", 4) != nullptr;
      if (!seeded_anew) findings.at(epochs->file, epochs->node);
    }
  }
  if (!shuffled || others || !findings.all().empty()) return;
  for (const Trace& trace : program.traces()) {
    const Loop* epochs = epochs_over_a_given_loader(trace);
    if (epochs != nullptr && !runs_once(*epochs)) findings.at(epochs->file, epochs->node);
  }
}

}  // namespace fx::knowledge::checks
