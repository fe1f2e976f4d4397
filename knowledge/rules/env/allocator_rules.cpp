// PYTORCH_CUDA_ALLOC_CONF and its newer name.
#include <algorithm>

#include "base/text.h"
#include "knowledge/rules/lists.h"

namespace fx::knowledge {
namespace {

struct Option {
  std::string key, value;
  bool equals = false;  // written with = instead of :
  bool missing = false;
};
struct Setting {
  const Assignment* variable = nullptr;
  std::vector<Option> options;

  const Option* find(std::string_view key) const {
    for (const auto& option : options) {
      if (option.key == key) return &option;
    }
    return nullptr;
  }
};

const std::vector<std::string>& option_names() {
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

bool is_boolean_option(std::string_view key) {
  return key == "expandable_segments" || key == "release_lock_on_cudamalloc" ||
         key == "pinned_use_cuda_host_register" || key == "pinned_use_background_threads" ||
         key == "graph_capture_record_stream_reuse";
}

// "a:1,b:[256:1,512:2],c:True" -> options; commas inside brackets belong to the value.
std::vector<Option> parse_options(std::string_view text) {
  std::vector<Option> options;
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
      Option option;
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

std::vector<Setting> settings(const Input& input) {
  std::vector<Setting> out;
  for (const auto& assignment : input.script.assignments) {
    if (assignment.name != "PYTORCH_CUDA_ALLOC_CONF" && assignment.name != "PYTORCH_ALLOC_CONF") continue;
    if (!assignment.value.resolved() || assignment.value.text.empty()) continue;
    out.push_back({&assignment, parse_options(assignment.value.text)});
  }
  return out;
}

void syntax(const Input& input, Hits& hits) {
  for (const auto& setting : settings(input)) {
    for (const auto& option : setting.options) {
      const bool known = std::find(option_names().begin(), option_names().end(), option.key) != option_names().end();
      std::string why;
      if (option.equals) why = "'=' stands where ':' belongs.";
      if (option.missing && why.empty() && known) why = option.key + " has no value.";
      const bool boolean = is_boolean_option(option.key) && option.value != "True" && option.value != "False";
      if (why.empty() && boolean) why = option.key + " wants True or False, not " + quoted(option.value) + ".";
      if (why.empty()) continue;
      const std::string value =
          boolean ? (to_lower(option.value) == "false" || option.value == "0" ? "False" : "True") : option.value;
      hits.at(*setting.variable, why,
              quote_input(option.key, 60) + ":" + (value.empty() ? "True" : quote_input(value, 40)));
      break;
    }
  }
}

void unknown_key(const Input& input, Hits& hits) {
  for (const auto& setting : settings(input)) {
    for (const auto& option : setting.options) {
      if (hits.full()) return;
      if (std::find(option_names().begin(), option_names().end(), option.key) != option_names().end()) continue;
      const auto near = nearest(option.key, option_names());
      hits.at(*setting.variable, "There is no option " + quoted(option.key) + ".", near ? "Write " + *near + "." : "");
    }
  }
}

void split_too_small(const Input& input, Hits& hits) {
  for (const auto& setting : settings(input)) {
    const Option* option = setting.find("max_split_size_mb");
    if (option != nullptr && to_integer(option->value).value_or(1000) < 20) hits.at(*setting.variable);
  }
}

void gc_range(const Input& input, Hits& hits) {
  for (const auto& setting : settings(input)) {
    const Option* option = setting.find("garbage_collection_threshold");
    const auto value = option == nullptr ? std::nullopt : to_number(option->value);
    if (value && (*value <= 0 || *value >= 1))
      hits.at(*setting.variable, quoted(option->value) + " is not between 0 and 1.");
  }
}

void expandable_with_split(const Input& input, Hits& hits) {
  if (input.context.known_at_least("torch", "2.5") || input.context.known_below("torch", "2.1")) return;
  for (const auto& setting : settings(input)) {
    const Option* expandable = setting.find("expandable_segments");
    const bool other =
        setting.find("max_split_size_mb") != nullptr || setting.find("garbage_collection_threshold") != nullptr;
    if (expandable == nullptr || expandable->value != "True" || !other) continue;
    hits.at(*setting.variable, input.context.at_least("torch", "2.5")
                                   ? ""
                                   : "This holds for torch before 2.5; the version was not given.");
  }
}

void expandable_old_torch(const Input& input, Hits& hits) {
  if (!input.context.known_below("torch", "2.1")) return;
  for (const auto& setting : settings(input)) {
    if (setting.find("expandable_segments") != nullptr) hits.at(*setting.variable);
  }
}

void new_name_old_torch(const Input& input, Hits& hits) {
  if (!input.context.known_below("torch", "2.10")) return;
  for (const auto& setting : settings(input)) {
    if (setting.variable->name == "PYTORCH_ALLOC_CONF") hits.at(*setting.variable);
  }
}

}  // namespace

Rules env_allocator_rules() {
  constexpr std::uint32_t kEnv = kEnvFile | kShell;
  return {
      {"env-alloc-conf-syntax", Severity::kError, kEnv, syntax},
      {"env-alloc-conf-unknown-key", Severity::kError, kEnv, unknown_key},
      {"env-alloc-conf-split-too-small", Severity::kError, kEnv, split_too_small},
      {"env-alloc-conf-gc-range", Severity::kError, kEnv, gc_range},
      {"env-alloc-conf-expandable-with-split", Severity::kWarning, kEnv, expandable_with_split},
      {"env-alloc-conf-expandable-old-torch", Severity::kError, kEnv, expandable_old_torch},
      {"env-alloc-conf-new-name-old-torch", Severity::kWarning, kEnv, new_name_old_torch},
  };
}

}  // namespace fx::knowledge
