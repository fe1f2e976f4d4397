// How much memory the processes of this machine, or of this container, may use together.
#pragma once

namespace fx::tools {

double machine_memory_bytes();  // the smaller of main memory and the cgroup's limit; 0: unknown

}  // namespace fx::tools
