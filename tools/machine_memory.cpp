#include "tools/machine_memory.h"

#include <unistd.h>

#include <fstream>

namespace fx::tools {

double machine_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  double bytes = pages > 0 && page > 0 ? static_cast<double>(pages) * static_cast<double>(page) : 0;
  std::ifstream file("/sys/fs/cgroup/memory.max");  // holds "max" when there is no limit
  double limit = 0;
  if (file >> limit && limit > 0 && (bytes == 0 || limit < bytes)) bytes = limit;
  return bytes;
}

}  // namespace fx::tools
