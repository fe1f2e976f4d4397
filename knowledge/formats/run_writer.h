// Writes an Effective as the settings of one format: the other direction of run_reader.h. One writer a format.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "knowledge/formats/effective.h"

namespace fx::knowledge {

// What a writer has to say about its output.
class WriteNotes {
 public:
  struct Placeholder {
    std::string key, value, reason;
  };
  // Why this field cannot be written as the source has it.
  void because(const std::string& field, std::string reason) { reasons_.emplace(field, std::move(reason)); }
  // A setting that the format requires and the source does not give.
  void placeholder(std::string key, std::string value, std::string reason) {
    placeholders_.push_back({std::move(key), std::move(value), std::move(reason)});
  }
  std::string reason(const std::string& field) const {
    const auto found = reasons_.find(field);
    return found == reasons_.end() ? "" : found->second;
  }
  const std::vector<Placeholder>& placeholders() const { return placeholders_; }

 private:
  std::map<std::string, std::string> reasons_;  // the first one given for a field stays
  std::vector<Placeholder> placeholders_;
};

// The run must be one that the format can say: knowledge/convert fits it first. Fields a format has no key for are
// left out. The results pass the rules of their format and the loader of its framework.
Json write_accelerate(const Effective& run, WriteNotes& notes);
Json write_axolotl(const Effective& run, WriteNotes& notes);
Json write_torchtitan(const Effective& run, WriteNotes& notes);
Json write_training_arguments(const Effective& run, WriteNotes& notes);
Json write_fsdp_config(const Effective& run, WriteNotes& notes);
Json write_run_spec(const Effective& run, WriteNotes& notes);

// transformers' name of an optimizer; "" when it has none.
std::string transformers_optimizer(const std::string& name);
// transformers' name of a schedule, which tells warm-up apart for a constant rate.
std::string transformers_schedule(const Effective& run);
bool is_sharded(const Effective& run);  // fsdp1, fsdp2 or hsdp

}  // namespace fx::knowledge
