// Ids of runs: their time for people, and enough chance that nobody can guess one.
#pragma once

#include <cstdint>
#include <string>

namespace fx::server {

std::string new_run_id(std::int64_t unix_millis);  // "run-20261130-071302-k3v9x2m7q4bt"

}  // namespace fx::server
