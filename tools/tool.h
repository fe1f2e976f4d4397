// A tool is a value: name, description, schemas and handler. MCP, REST, OpenAPI, the command line and the docs read the
// same list (catalogue.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spec/json.h"

namespace fx::knowledge {
class Store;
}

namespace fx::tools {

class RunService;

// What handlers may use. Owned by main(); outlives every call. Members are safe to use from several threads.
struct ToolContext {
  knowledge::Store& store;  // facts, pages; opened on first use
  RunService& runs;         // launches and watches runs
};

struct Tool {
  std::string name;         // stable: [a-z_]{1,40}
  std::string description;  // one or two sentences for a model that chooses a tool; no code in it
  // JSON Schema texts; the root is an object without unions or references.
  std::string input_schema;
  std::string output_schema;  // empty: not promised
  bool read_only = true;      // changes nothing outside
  // Gets the arguments as an object. "Not applicable" and "invalid config" are answers; an Error is only for arguments
  // that cannot be used, or for our own fault. Called from several threads at once.
  std::function<Result<Json>(const Json& arguments, ToolContext& context)> handler;
};

}  // namespace fx::tools
