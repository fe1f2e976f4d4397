// How a slice by rank divides rows among the ranks. Internal to knowledge/code.
#pragma once

#include "knowledge/code/object.h"

namespace fx::knowledge::code {

// rows[start:stop] with start = rank * each and stop = (rank + 1) * each or start + each, where each is no number that
// was rounded up: every rank gets as many rows.
bool cuts_equal_shares(const Object* start, const Object* stop);
// rows // world * world, rows - rows % world: every rank-th of that many gives each rank as many.
bool is_cut_to_the_world(const Object* count);

}  // namespace fx::knowledge::code
