// Local ranks (torchrun's tee prefix, NCCL's device) stand for the ranks of a job on one host.
#pragma once

#include "knowledge/log/log_book.h"

namespace fx::knowledge {

// Gives lines without a rank their local one: where lines that state both agree, or where no line states a rank and
// nothing tells of a second host.
void take_local_ranks(LogBook& book);

}  // namespace fx::knowledge
