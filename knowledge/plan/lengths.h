// Batches of examples of varied length, each padded to its longest. Lengths are taken to be spread exponentially, cut
// at the setting's sequence length.
#pragma once

#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

// Mean length of a padded batch, tokens; the sequence length where lengths do not vary.
double padded_length(const Setting& setting);
// Sizes of the batches that were the longest so far, summed, over the size of the longest of all: their blocks stay in
// the allocator's cache, too small for the next. An assumed spread where the setting has none.
double longest_so_far(const Setting& setting);

}  // namespace fx::knowledge::plan
