#include "knowledge/rules/env/allocator_options.h"

#include "base/text.h"

namespace fx::knowledge {
namespace {

// "a:1,b:[256:1,512:2],c:True" -> options; commas inside brackets belong to the value.
std::vector<AllocatorOption> parse_options(std::string_view text) {
  std::vector<AllocatorOption> options;
  int depth = 0;
  std::string part;
  for (const char c : std::string(text) + ',') {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || depth > 0) {
      part += c;
      continue;
    }
    const std::string_view body = trim(part);
    if (!body.empty()) {
      AllocatorOption option;
      const auto mark = body.find_first_of(":=");
      option.key = std::string(trim(body.substr(0, mark)));
      option.missing = mark == std::string_view::npos || trim(body.substr(mark + 1)).empty();
      option.equals = mark != std::string_view::npos && body[mark] == '=';
      if (mark != std::string_view::npos) option.value = std::string(trim(body.substr(mark + 1)));
      options.push_back(std::move(option));
    }
    part.clear();
  }
  return options;
}

}  // namespace

const AllocatorOption* AllocatorSetting::find(std::string_view key) const {
  for (const auto& option : options) {
    if (option.key == key) return &option;
  }
  return nullptr;
}

const std::vector<std::string>& allocator_option_names() {
  static const std::vector<std::string> names = {"expandable_segments",
                                                 "max_split_size_mb",
                                                 "garbage_collection_threshold",
                                                 "roundup_power2_divisions",
                                                 "roundup_bypass_threshold_mb",
                                                 "backend",
                                                 "release_lock_on_cudamalloc",
                                                 "release_lock_on_hipmalloc",
                                                 "pinned_use_cuda_host_register",
                                                 "pinned_use_hip_host_register",
                                                 "pinned_num_register_threads",
                                                 "pinned_use_background_threads",
                                                 "pinned_reserve_segment_size_mb",
                                                 "pinned_max_register_threads",
                                                 "max_non_split_rounding_mb",
                                                 "graph_capture_record_stream_reuse",
                                                 "per_process_memory_fraction",
                                                 "large_segment_size_mb",
                                                 "throw_on_cudamalloc_oom"};
  return names;
}

bool is_boolean_allocator_option(std::string_view key) {
  return key == "expandable_segments" || key == "release_lock_on_cudamalloc" ||
         key == "pinned_use_cuda_host_register" || key == "pinned_use_background_threads" ||
         key == "graph_capture_record_stream_reuse";
}

std::vector<AllocatorSetting> allocator_settings(const Input& input) {
  std::vector<AllocatorSetting> out;
  for (const auto& assignment : input.script.assignments) {
    if (assignment.name != "PYTORCH_CUDA_ALLOC_CONF" && assignment.name != "PYTORCH_ALLOC_CONF") continue;
    if (!assignment.value.resolved() || assignment.value.text.empty()) continue;
    out.push_back({&assignment, parse_options(assignment.value.text)});
  }
  return out;
}

}  // namespace fx::knowledge
