// The flags of `plan` that stand for one argument of plan_finetune each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/json.h"

namespace fx::server {

struct PlanFlag {
  enum class Kind { kText, kNumber, kGigabytes, kSwitch };
  const char* flag;   // "--seq,--seq-len"
  const char* field;  // "training.seq_len"
  Kind kind;
  const char* help;
  double kilo = 1000;  // what k stands for; M, B and T are its powers
  double unit = 1;     // a million and more counts ones of this unit: 8 and 8B are both 8 billions
};

const std::vector<PlanFlag>& plan_flags();

// What the user wrote for each flag, by field; empty: not given. Errors: numbers that are none, all of them, at their
// flags.
using PlanFlagTexts = std::map<std::string, std::string>;
Result<void> add_plan_flags(const PlanFlagTexts& texts, Json& arguments);

}  // namespace fx::server
