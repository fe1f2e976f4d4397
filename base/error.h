// One error type, one table of codes: what a code means on the command line, over HTTP and over MCP.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fx {

enum class ErrorCode {
  kInvalidArgument,  // the caller's input is wrong; field says where
  kNotFound,         // an id, file or route that does not exist
  kConflict,         // the request clashes with the current state
  kTooLarge,         // over a stated limit
  kUnsupported,      // understood, but this build or version cannot do it
  kUnavailable,      // a resource is missing now (disk, port, engine, network); trying again may help
  kTimeout,          // a stated time ran out
  kForbidden,        // refused for safety (foreign host or origin)
  kInternal,         // our own fault
};

// What was wrong (message), where (field: JSON path such as "training.seq_len", or "file:line"), what to do (hint).
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string hint;
  std::string field;
  std::vector<Error> details;  // every mistake of one input, when there are several
};

// One row of the table.
struct ErrorCodeInfo {
  ErrorCode code;
  std::string_view name;   // stable, for machines: "invalid_argument"
  std::string_view title;  // for people
  int http_status;
  int exit_code;      // sysexits-like: 2 for bad arguments, 70 for our own fault
  int json_rpc_code;  // for MCP protocol errors
};

const ErrorCodeInfo& info(ErrorCode code);
const std::vector<ErrorCodeInfo>& error_codes();

Error invalid_argument(std::string field, std::string message, std::string hint = {});
Error not_found(std::string message, std::string hint = {});
Error unavailable(std::string message, std::string hint = {});
Error unsupported(std::string field, std::string message, std::string hint = {});
Error internal_error(std::string message);

// Several mistakes of one input as one error: the first one's message, all in details. Requires a non-empty list.
Error combine(std::vector<Error> errors);

// "field: message (hint)" on one line, for people.
std::string to_line(const Error& error);

}  // namespace fx
