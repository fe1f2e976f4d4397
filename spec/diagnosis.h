// What diagnose_failure answers: the root cause with the lines that prove it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/json.h"

namespace fx {

struct EvidenceLine {
  std::string log;   // name of the log when several were given
  int line = 0;      // 1-based
  std::string text;  // cleaned: no control characters, no secrets, capped
};

struct Cause {
  std::string id;                // id of the cause's page
  double confidence = 0;         // 0..1, calibrated
  std::optional<int> root_rank;  // global rank where the fault began, if the log shows one
  std::string summary;
  std::vector<EvidenceLine> evidence;
  std::string first_step;
  std::vector<std::string> next_steps;
  std::vector<std::string> sources;
};

enum class Verdict { kFailure, kNoFailureFound, kNotApplicable };
std::string_view to_string(Verdict verdict);  // "failure", "no_failure_found", "not_applicable"

struct Diagnosis {
  Verdict verdict = Verdict::kNotApplicable;
  std::string reason;         // one sentence for people
  std::vector<Cause> causes;  // best first
};

Json to_json(const Diagnosis& diagnosis);

}  // namespace fx
