// How many processes run the code, and what each of them has for itself.
#pragma once

#include "knowledge/code/program.h"

namespace fx::knowledge::code {

// Something only a run of several processes does: a group, a collective, a sharded or replicated model, accelerate.
bool is_multi_process(const Program& program);

// A path, seed or name that depends on the rank, on data of this rank, or on something called "rank".
bool differs_by_rank(const Object* value);

}  // namespace fx::knowledge::code
