// `fsdp-engine train`: one rank of a run, from its environment and spec to its exit code.
#pragma once

#include <atomic>
#include <string>

#include "engine/train/loop.h"

namespace fx::engine {

// stop is set from a signal handler. make builds the model: another one than make_model() is for tests.
int train_command(const std::string& spec_path, const std::atomic<bool>& stop, const ModelFactory& make);

// One line on standard error, with all details; the exit code of the error.
int print_failure(const Error& error);

}  // namespace fx::engine
