// The source's run against the one that the output describes.
#pragma once

#include "knowledge/convert/convert.h"
#include "knowledge/convert/settings.h"

namespace fx::knowledge {

// Fields that two runs say alike although their words differ: any sharding of parameters by any version, one AdamW.
bool same_meaning(const std::string& field, const std::string& a, const std::string& b);

struct Sides {
  const EffectiveRun& source;
  const EffectiveRun& output;
  std::vector<Setting> settings;                     // of the source
  std::vector<std::pair<std::string, int>> carried;  // settings that the output has as they were
};
// Fills dropped and assumed.
void compare(const Sides& sides, const Target& target, const WriteNotes& notes, Conversion& out);

}  // namespace fx::knowledge
