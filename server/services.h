// What tool handlers use, opened on first use: the knowledge store and the run service.
#pragma once

#include <filesystem>
#include <memory>

#include "tools/tool.h"

namespace fx::server {

// Owns the objects behind a ToolContext. Must outlive every call that got its context.
class Services {
 public:
  explicit Services(std::filesystem::path data_folder);
  ~Services();
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  tools::ToolContext& context();
  Result<void> ready();  // everything is open and can be used
  const std::filesystem::path& data_folder() const { return data_folder_; }

 private:
  struct Parts;
  std::filesystem::path data_folder_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fx::server
