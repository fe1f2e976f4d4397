// A step of a run that is only counted: the real schedule of rank 0 with tensors of sizes only and no peers. Shows what
// is sent and what memory is needed at each moment, for any number of ranks, before there are any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/comm/fake.h"
#include "engine/models/model.h"
#include "spec/json.h"
#include "spec/run_spec.h"

namespace fx::engine {

struct DryRun {
  long long ranks = 0;
  std::int64_t parameters = 0, trained_parameters = 0;  // adapters are among both
  std::int64_t micro_batches = 0;                       // a step
  std::int64_t tokens = 0;                              // a micro-batch of one rank
  TrafficLog traffic;                                   // of one step, without its few scalars (loss, norm)
  struct Phase {
    std::string name;  // start, forward, head and loss, backward, optimizer
    std::int64_t peak_bytes = 0;
  };
  std::vector<Phase> phases;  // in the order of a step
  // Of one rank: what stays between steps, and the gradients that come before an optimizer step.
  std::int64_t master_bytes = 0, optimizer_bytes = 0, gradient_bytes = 0;
};

// Micro-batches are full of documents of max_seq_len tokens, all trained on: the most that the spec allows. Rank 0
// holds the most rows. One at a time in a process (SizeMeter).
DryRun dry_run(const Model& model, const RunSpec& spec);

Json to_json(const DryRun& run);
// Tables for people.
std::string to_table(const DryRun& run);

}  // namespace fx::engine
