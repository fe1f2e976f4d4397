// Bends a run so that a target can say it, and notes why.
#pragma once

#include "base/result.h"
#include "knowledge/convert/targets.h"

namespace fx::knowledge {

struct FitOptions {
  std::optional<int> fsdp_version;    // 1 or 2; absent: the source's, or 2 where it is open
  bool trainer_reads_version = true;  // transformers 4 ignores it
};

// Errors: kUnsupported when the target cannot have that FSDP version; kInvalidArgument when the run's strategy is none
// that any target has (field "text").
Result<void> fit_run(Effective& run, const Target& target, const FitOptions& options, WriteNotes& notes);

}  // namespace fx::knowledge
