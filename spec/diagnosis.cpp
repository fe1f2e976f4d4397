#include "spec/diagnosis.h"

#include <nlohmann/json.hpp>

namespace fx {
namespace {

Json cause_to_json(const Cause& cause) {
  Json out = {{"id", cause.id}, {"confidence", cause.confidence}};
  out["root_rank"] = cause.root_rank ? Json(*cause.root_rank) : Json(nullptr);
  if (!cause.summary.empty()) out["summary"] = cause.summary;
  out["evidence"] = Json::array();
  for (const auto& line : cause.evidence) {
    Json row = {{"line", line.line}, {"text", line.text}};
    if (!line.log.empty()) row["log"] = line.log;
    out["evidence"].push_back(std::move(row));
  }
  out["first_step"] = cause.first_step;
  out["next_steps"] = cause.next_steps;
  out["sources"] = cause.sources;
  return out;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFailure:
      return "failure";
    case Verdict::kNoFailureFound:
      return "no_failure_found";
    case Verdict::kNotApplicable:
      return "not_applicable";
  }
  return "not_applicable";
}

Json to_json(const Diagnosis& diagnosis) {
  Json out = {{"verdict", to_string(diagnosis.verdict)}, {"reason", diagnosis.reason}, {"causes", Json::array()}};
  for (const auto& cause : diagnosis.causes) out["causes"].push_back(cause_to_json(cause));
  return out;
}

}  // namespace fx
