// The subcommands for people at a terminal.
#pragma once

#include <functional>
#include <string>

#include "server/commands/convert.h"
#include "server/commands/diagnose.h"
#include "server/commands/knowledge.h"
#include "server/commands/plan.h"
#include "server/commands/review_code.h"
#include "server/commands/validate.h"

namespace CLI {
class App;
}

namespace fx::server {

// What the parsed command line asks for; returns the exit code.
using Chosen = std::function<int(Session&)>;

struct PeopleOptions {
  ValidateOptions validate;
  ConvertOptions convert;
  DiagnoseOptions diagnose;
  ReviewCodeOptions review_code;
  PlanOptions plan;
  SearchOptions search;
  std::string id;         // of a page or a run
  std::string spec, key;  // launch
  int limit = 20;
  bool json = false;
};

// options and chosen must outlive app.
void add_people_commands(CLI::App& app, PeopleOptions& options, Chosen& chosen);

}  // namespace fx::server
