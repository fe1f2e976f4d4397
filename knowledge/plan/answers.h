// The answers of set_answers() that ask how the work is laid out, and what all answers share.
#pragma once

#include <functional>
#include <string>

#include "knowledge/plan/plan.h"

namespace fx::knowledge::plan {

// printf into a string of at most 700 characters.
__attribute__((format(printf, 1, 2))) std::string words(const char* format, ...);
// The chosen setting with one change.
Candidate variant(const Plan& plan, const std::function<void(Setting&)>& change);
// Weights, gradients and optimizer state of one rank, wherever they live.
double states_bytes(const Plan& plan);

std::string best_batch(const Plan& plan);
std::string longest_sequence(const Plan& plan);
std::string fewest_gpus(const Plan& plan);
std::string when_hsdp(const Plan& plan);
std::string smaller_reshard_mesh(const Plan& plan);
std::string keep_after_forward(const Plan& plan);

}  // namespace fx::knowledge::plan
