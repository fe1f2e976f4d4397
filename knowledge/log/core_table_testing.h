// The marks that the reader itself needs, without those of the causes: what tests of the reader read with.
#pragma once

#include "knowledge/log/mark.h"
#include "knowledge/log/scene.h"

namespace fx::knowledge {

inline const MarkTable& core_table() {
  static const MarkTable out = [] {
    MarkTable made;
    made.add("core", core_marks());
    made.compile();
    return made;
  }();
  return out;
}

}  // namespace fx::knowledge
