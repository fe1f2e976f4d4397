#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/rank_shares.h"

namespace fx::knowledge::checks {

using namespace code;

void iterable_not_split_by_rank(const Program& program, Findings& findings) {
  if (program.uses_accelerate()) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& made : trace.events) {
      const Object* loader = made.result;
      if (!is_loader(loader) || loader->node != made.node) continue;
      const Object* dataset = main_of(dataset_of(*loader));
      const Class* of = dataset == nullptr ? nullptr : dataset->of_class;
      if (of == nullptr || !of->is_iterable_dataset || mentions_ranks(program, *of) || may_be_split(*dataset)) continue;
      const Function* iterate = of->method("__iter__");
      if (iterate != nullptr) findings.at(iterate->file, iterate->node);
    }
  }
}

}  // namespace fx::knowledge::checks
