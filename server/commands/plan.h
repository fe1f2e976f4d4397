// `plan MODEL`: memory, speed and settings of a fine-tune before it starts.
#pragma once

#include <string>

#include "server/commands/ask.h"
#include "server/commands/plan_flags.h"

namespace fx::server {

struct PlanOptions {
  std::string model;       // a config.json, or the folder that holds it; empty: only the number of parameters
  PlanFlagTexts flags;     // what is empty the planner chooses
  bool questions = false;  // also answer the usual questions in words
  std::string write;       // folder for the ready files; empty: none
  bool json = false;
};

int plan_command(Session& session, const PlanOptions& options);

}  // namespace fx::server
