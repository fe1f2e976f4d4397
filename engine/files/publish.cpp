#include "engine/files/publish.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "engine/files/file.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;

Result<void> sync_tree(const fs::path& folder) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    if (!entry.is_regular_file()) continue;
    const auto file = File::open_to_read(entry.path());
    if (!file) return file.error();
    if (auto synced = file->sync(); !synced) return synced;
  }
  if (code) return file_error(folder, "cannot list", code.value());
  return sync_folder(folder);
}

fs::path parent_of(const fs::path& path) {
  const fs::path clean = path.has_filename() ? path : path.parent_path();
  return clean.has_parent_path() ? clean.parent_path() : fs::path(".");
}

bool is_weights(const std::string& name) {
  return name.starts_with("model") && name.ends_with(".safetensors");
}

Result<void> finish_publishing(const fs::path& staging, const fs::path& final_folder) {
  std::error_code code;
  fs::remove(staging, code);
  return sync_folder(final_folder);
}

// What points at other files comes last, so that no reader follows it to a file that is not there yet.
int order_of(const std::string& name) {
  if (is_weights(name)) return 0;
  return name.ends_with(".index.json") ? 1 : name == "config.json" || name == "adapter_config.json" ? 2 : 0;
}

}  // namespace

Result<void> publish_folder(const fs::path& staging, const fs::path& final_folder) {
  if (auto synced = sync_tree(staging); !synced) return synced;
  std::error_code code;
  if (!fs::exists(fs::symlink_status(final_folder))) {
    fs::rename(staging, final_folder, code);
    if (code) return file_error(final_folder, "cannot publish", code.value());
    return sync_folder(parent_of(final_folder));
  }
  if (::renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, final_folder.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(staging, code);
    return sync_folder(parent_of(final_folder));
  }
  if (errno != EINVAL && errno != ENOSYS) return file_error(final_folder, "cannot publish", errno);
  // A file system without exchange: two renames, with a moment in which the name does not exist.
  const fs::path old = staging.string() + ".old";
  fs::remove_all(old, code);
  fs::rename(final_folder, old, code);
  if (code) return file_error(final_folder, "cannot move the old folder away", code.value());
  fs::rename(staging, final_folder, code);
  if (code) return file_error(final_folder, "cannot publish", code.value());
  fs::remove_all(old, code);
  return sync_folder(parent_of(final_folder));
}

Result<void> publish_files(const fs::path& staging, const fs::path& final_folder) {
  if (auto synced = sync_tree(staging); !synced) return synced;
  std::error_code code;
  fs::create_directories(final_folder, code);
  if (code) return file_error(final_folder, "cannot create the folder", code.value());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(staging, code)) names.push_back(entry.path().filename().string());
  if (code) return file_error(staging, "cannot list", code.value());
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return order_of(a) != order_of(b) ? order_of(a) < order_of(b) : a < b;
  });
  for (const auto& name : names) {
    fs::rename(staging / name, final_folder / name, code);
    if (code) return file_error(final_folder / name, "cannot publish", code.value());
  }
  // Weights and an index of the model that was there before would be found by a loader. An adapter replaces no model.
  const std::set<std::string> fresh(names.begin(), names.end());
  if (std::none_of(names.begin(), names.end(), is_weights)) return finish_publishing(staging, final_folder);
  for (const auto& entry : fs::directory_iterator(final_folder, code)) {
    const std::string name = entry.path().filename().string();
    const bool stale = (is_weights(name) || name == "model.safetensors.index.json") && !fresh.contains(name);
    if (stale) fs::remove(entry.path(), code);
  }
  return finish_publishing(staging, final_folder);
}

}  // namespace fx::engine
