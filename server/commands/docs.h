// `docs write|check FOLDER`: the reference pages.
#pragma once

#include <string>
#include <vector>

#include "server/reference.h"

namespace fx::server {

int write_docs_command(const std::vector<ReferencePage>& pages, const std::string& folder);
// Exit code 1 when a page differs from what write would give.
int check_docs_command(const std::vector<ReferencePage>& pages, const std::string& folder);

}  // namespace fx::server
