// A mechanical fix as replacements of text, in the terms of editors and SARIF.
#pragma once

#include <string>
#include <vector>

#include "spec/json.h"

namespace fx {

// Lines and columns count from 1, columns in characters (code points); the end is the first character that stays. A
// byte order mark is no character of line 1. An empty range inserts.
struct Edit {
  int start_line = 1, start_column = 1;
  int end_line = 1, end_column = 1;
  std::string replacement;
};
using Patch = std::vector<Edit>;  // in the order of the text; ranges do not overlap

Json to_json(const Patch& patch);

}  // namespace fx
