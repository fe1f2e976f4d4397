// The formats that can be written, and what each can say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/formats/run_writer.h"

namespace fx::knowledge {

struct Target {
  Format format = kShell;
  std::string_view alias;   // "accelerate"; the format's own name is accepted too
  std::string_view label;   // in sentences
  std::string_view family;  // formats of one family share the names of their settings
  bool fsdp1 = false;
  bool hybrid_mesh = true;                   // can say how many copies of the shards there are
  std::vector<std::string_view> axes;        // mesh axes it has keys for
  std::vector<std::string_view> precisions;  // it can compute in
  std::vector<std::string_view> schedules;   // empty: transformers' names
  bool adapters = false;                     // can say that adapters are trained
  bool adamw_only = false;
  bool steps_only = false, whole_epochs = false;
  Json (*write)(const Effective&, WriteNotes&) = nullptr;
  std::string (*emit)(const Json&) = nullptr;
};

const std::vector<Target>& targets();
const Target* find_target(std::string_view name);  // by alias or format name
const Target* target_of(Format format);            // also for formats that are only read: same family, else nullptr
std::vector<std::string> target_names();

// Why the target says nothing about a field, or says it another way; never empty.
std::string reason_for(const Target& target, std::string_view field);
// The same for a setting of the source that belongs to no field.
std::string reason_for_setting(const Target& target, std::string_view name);

}  // namespace fx::knowledge
