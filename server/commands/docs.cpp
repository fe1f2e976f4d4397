#include "server/commands/docs.h"

#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "server/commands/call.h"

namespace fx::server {

int write_docs_command(const std::vector<ReferencePage>& pages, const std::string& folder) {
  if (const auto made = make_folder(folder); !made) return report(made.error());
  for (const auto& page : pages) {
    const auto written = write_file_atomic(std::filesystem::path(folder) / page.name, page.text);
    if (!written) return report(written.error());
  }
  return 0;
}

int check_docs_command(const std::vector<ReferencePage>& pages, const std::string& folder) {
  int stale = 0;
  for (const auto& page : pages) {
    const auto path = std::filesystem::path(folder) / page.name;
    if (read_file(path).value_or("") == page.text) continue;
    std::fprintf(stderr, "%s is not up to date: run 'make docs'\n", path.c_str());
    stale = 1;
  }
  return stale;
}

}  // namespace fx::server
