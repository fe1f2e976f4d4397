// Files and folders as Results. Paths in messages are the caller's own.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fx {

// The whole file. Errors: kNotFound, kTooLarge (over max_bytes), kUnavailable.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes = std::size_t{64} << 20);
// All of standard input, up to max_bytes.
Result<std::string> read_stdin(std::size_t max_bytes = std::size_t{64} << 20);
// Hands a file, or standard input where path is "-", over in pieces: memory does not grow with it. Errors as read_file.
Result<void> stream_file(const std::filesystem::path& path, const std::function<void(std::string_view)>& take,
                         std::size_t max_bytes = std::size_t{64} << 20);
// Writes to a temporary name in the same folder, syncs, renames: readers see the old text or the new one.
Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view text);
Result<void> append_file(const std::filesystem::path& path, std::string_view text);
Result<void> make_folder(const std::filesystem::path& path);
// The last max_bytes of a file, cut to whole lines.
Result<std::string> read_tail(const std::filesystem::path& path, std::size_t max_bytes);
// Where our data lies: override if not empty, else $FSDP_EXPERT_HOME, else $XDG_DATA_HOME/fsdp-expert, else
// ~/.local/share/fsdp-expert.
std::filesystem::path data_folder(const std::string& override_path);

}  // namespace fx
