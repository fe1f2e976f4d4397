// Numbers with the noun that they count: how many ranks a line speaks of, and labels that count zero.
#pragma once

#include <set>
#include <string_view>

namespace fx::knowledge {

// Counts of ranks, processes, GPUs or devices that a line names, before or behind the noun: "world size 16", "8 ranks",
// "num_processes (4)", "model_world_size_16_rank_3.pt". low: the line in lower case.
std::set<long long> worker_counts(std::string_view low);

// True when a line says that no label (target, supervised token, completion token) is left: "labels: 0/812",
// "valid_tokens=0", "0 supervised tokens", "masked 512 of 512".
bool counts_no_label(std::string_view low);

// True when a line says that of a checkpoint's tensors (keys, parameters, layers) none or few came into the model: "0
// of 338 tensors loaded", "matched 12/338 keys", "loaded: 0 params".
bool loads_little(std::string_view low);

// True when NaN or infinity stands in a line as a value or an event ("loss: nan", "Inf in gradients", "non-finite grad
// norm"), not as a count of zero ("nan iterations: 0", "0 NaNs") or as part of a name ("check_nan").
bool tells_not_finite(std::string_view low);

}  // namespace fx::knowledge
