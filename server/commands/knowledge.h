// `search WORDS` and `explain ID`: the knowledge base.
#pragma once

#include <string>
#include <vector>

#include "server/commands/ask.h"

namespace fx::server {

struct SearchOptions {
  std::vector<std::string> words;
  int limit = 5;
  bool json = false;
};

int search_command(Session& session, const SearchOptions& options);
int explain_command(Session& session, const std::string& id, bool json);

}  // namespace fx::server
