// `fsdp-engine bench comm`: how fast ranks on this host exchange data.
#pragma once

#include <string>
#include <vector>

namespace fx::engine {

// The arguments behind "bench comm": [--ranks N] [--mib N] [--repeats N] [--transport shm|gloo|both]; returns the exit
// code. Under RANK and WORLD_SIZE it is one rank of them; otherwise it starts the ranks itself, on this host. Rank 0
// prints JSON: the medians, as GB/s of the full buffer.
int comm_bench_command(const std::vector<std::string>& arguments);

}  // namespace fx::engine
