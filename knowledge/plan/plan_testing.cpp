#include "knowledge/plan/plan_testing.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fx::knowledge::plan {

Json arguments(const char* model, const char* hardware, const char* training) {
  Json json;
  json["model"] = *parse_json(model);
  json["hardware"] = *parse_json(hardware);
  json["training"] = *parse_json(training);
  return json;
}

Result<Plan> try_plan(const Json& json) {
  const auto args = plan_fields().parse(json);
  if (!args) return args.error();
  return make_plan(*args);
}

Plan plan_of(const char* model, const char* hardware, const char* training) {
  auto plan = try_plan(arguments(model, hardware, training));
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  return plan ? *std::move(plan) : Plan{};
}

double share(const Plan& plan, const char* component) {
  for (const auto& [name, bytes] : plan.chosen.memory.components) {
    if (name == component) return bytes;
  }
  return -1;
}

}  // namespace fx::knowledge::plan
