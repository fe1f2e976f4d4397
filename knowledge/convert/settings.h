// The single settings of a source, and which of them a file of the same family can take over as they are.
#pragma once

#include <string>
#include <vector>

#include "knowledge/convert/targets.h"

namespace fx::knowledge {

struct Setting {
  std::string key;   // as findings name it
  std::string name;  // in its own mapping
  int line = 0;
  std::string value;    // as written
  bool secret = false;  // must not be shown or copied
  bool silent = false;  // says only what is so without it
};

// Every leaf of a structured file, every flag or override of a script.
std::vector<Setting> settings_of(const Input& input);
// Can this text be shown?
bool is_secret_setting(const std::string& name, const std::string& value);

// Copies settings that the output lacks from a source of the target's family; gives the copied ones as (name, line).
// Nothing is copied that FSDP2 or the new strategy makes void. from: the source's run; run: the one that is written.
std::vector<std::pair<std::string, int>> carry_settings(const Input& source, const EffectiveRun& from,
                                                        const Target& target, const Effective& run, Json& out);

}  // namespace fx::knowledge
