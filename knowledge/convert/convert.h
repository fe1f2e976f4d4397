// Translates a training configuration into another format, through the run that it describes. What the output really
// says is read back from it, so that the lists of lost and assumed settings are measured, not claimed.
#pragma once

#include <string>
#include <vector>

#include "knowledge/convert/fit.h"
#include "knowledge/formats/effective.h"
#include "spec/finding.h"

namespace fx::knowledge {

struct Dropped {
  std::string key;  // of the source
  int line = 0;
  std::string value;  // made safe to show; "[secret]" for secrets
  std::string reason;
};
struct Assumed {
  std::string key;  // of the output
  std::string value, reason;
};

struct Conversion {
  bool applicable = false;  // the source is a configuration that says how a model is trained
  bool converted = false;   // false: see reason and findings
  std::string reason;
  std::string text;
  Effective effective;  // of the output
  std::vector<Dropped> dropped;
  std::vector<Assumed> assumed;
  std::vector<Finding> findings;  // errors of the source, which stop the conversion; secrets, which are not copied
};

// Errors: fit_run's.
Result<Conversion> convert_run(const Input& source, const Target& target, const FitOptions& options);

}  // namespace fx::knowledge
