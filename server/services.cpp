#include "server/services.h"

#include <utility>

#include "knowledge/content.h"
#include "knowledge/store/store.h"
#include "server/runs/supervised_runs.h"

namespace fx::server {

struct Services::Parts {
  explicit Parts(const std::filesystem::path& folder)
      : store(folder, knowledge::embedded_content()), runs(default_run_settings(folder)) {}
  knowledge::Store store;
  SupervisedRuns runs;
  tools::ToolContext context{store, runs};
};

Services::Services(std::filesystem::path data_folder)
    : data_folder_(std::move(data_folder)), parts_(std::make_unique<Parts>(data_folder_)) {}
Services::~Services() = default;

tools::ToolContext& Services::context() {
  return parts_->context;
}

Result<void> Services::ready() {
  const auto opened = parts_->store.open();
  if (!opened) return opened.error();
  return parts_->runs.ready();
}

}  // namespace fx::server
