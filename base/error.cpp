#include "base/error.h"

#include <stdexcept>
#include <utility>

namespace fx {

const std::vector<ErrorCodeInfo>& error_codes() {
  static const std::vector<ErrorCodeInfo> table = {
      {ErrorCode::kInvalidArgument, "invalid_argument", "The input is wrong", 400, 2, -32602},
      {ErrorCode::kNotFound, "not_found", "Not found", 404, 2, -32602},
      {ErrorCode::kConflict, "conflict", "Clashes with the current state", 409, 2, -32602},
      {ErrorCode::kTooLarge, "too_large", "Over a limit", 413, 2, -32602},
      {ErrorCode::kUnsupported, "unsupported", "Not supported here", 422, 2, -32602},
      {ErrorCode::kUnavailable, "unavailable", "Not available now", 503, 69, -32603},
      {ErrorCode::kTimeout, "timeout", "Out of time", 504, 75, -32603},
      {ErrorCode::kForbidden, "forbidden", "Refused", 403, 77, -32600},
      {ErrorCode::kInternal, "internal", "Our own fault", 500, 70, -32603},
  };
  return table;
}

const ErrorCodeInfo& info(ErrorCode code) {
  for (const auto& row : error_codes()) {
    if (row.code == code) return row;
  }
  throw std::logic_error("error code without a row in the table");
}

Error invalid_argument(std::string field, std::string message, std::string hint) {
  return {ErrorCode::kInvalidArgument, std::move(message), std::move(hint), std::move(field), {}};
}
Error not_found(std::string message, std::string hint) {
  return {ErrorCode::kNotFound, std::move(message), std::move(hint), {}, {}};
}
Error unavailable(std::string message, std::string hint) {
  return {ErrorCode::kUnavailable, std::move(message), std::move(hint), {}, {}};
}
Error unsupported(std::string field, std::string message, std::string hint) {
  return {ErrorCode::kUnsupported, std::move(message), std::move(hint), std::move(field), {}};
}
Error internal_error(std::string message) {
  return {ErrorCode::kInternal, std::move(message), {}, {}, {}};
}

Error combine(std::vector<Error> errors) {
  if (errors.empty()) throw std::logic_error("combine() of no errors");
  Error all = errors.front();
  if (errors.size() > 1) {
    all.message += " (and " + std::to_string(errors.size() - 1) + " more)";
    all.details = std::move(errors);
  }
  return all;
}

std::string to_line(const Error& error) {
  std::string line = error.field.empty() ? error.message : error.field + ": " + error.message;
  if (!error.hint.empty()) line += " (" + error.hint + ")";
  return line;
}

}  // namespace fx
