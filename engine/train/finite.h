// What a run says when its numbers are no numbers any more.
#pragma once

#include <string>

#include "engine/checkpoint/owned_rows.h"

namespace fx::engine {

// The first parameter whose gradient on this rank holds NaN or infinity; empty when none does.
std::string first_not_finite(Groups& groups);

// Collective: the error of a step (from 1) whose loss or gradient norm is not finite, on every rank. It names the
// parameter where this rank sees one, else a rank that does.
Error not_finite_error(long long step, double loss, Groups& groups, Collectives& comm);

}  // namespace fx::engine
