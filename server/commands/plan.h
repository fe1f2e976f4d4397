// `plan MODEL`: memory, speed and settings of a fine-tune before it starts.
#pragma once

#include <string>

#include "server/commands/ask.h"

namespace fx::server {

struct PlanOptions {
  std::string model;  // a config.json, or the folder that holds it
  std::string gpu;
  int gpus = 1, nodes = 1;
  std::string method;                // empty: the planner chooses
  int seq_len = 0, micro_batch = 0;  // 0: the planner chooses
  double tokens = 0;
  double price = 0;        // per GPU and hour
  std::string sharding;    // empty: the planner chooses
  bool questions = false;  // also answer the usual questions in words
  std::string write;       // folder for the ready files; empty: none
  bool json = false;
};

int plan_command(Session& session, const PlanOptions& options);

}  // namespace fx::server
