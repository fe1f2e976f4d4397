#include "server/services.h"

#include <utility>

#include "server/no_runs.h"

// Nothing reads the store yet: the tools that do bring its header with them.
class fx::knowledge::Store {};

namespace fx::server {

struct Services::Parts {
  knowledge::Store store;
  NoRuns runs;
  tools::ToolContext context{store, runs};
};

Services::Services(std::filesystem::path data_folder)
    : data_folder_(std::move(data_folder)), parts_(std::make_unique<Parts>()) {}
Services::~Services() = default;

tools::ToolContext& Services::context() {
  return parts_->context;
}

Result<void> Services::ready() {
  return {};
}

}  // namespace fx::server
