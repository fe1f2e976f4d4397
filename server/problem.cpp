#include "server/problem.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "spec/json.h"

namespace fx::server {
namespace {

struct StatusWords {
  int status;
  const char* code;
  const char* title;
};

// Statuses that HTTP itself gives rise to.
StatusWords words_of(int status) {
  static constexpr StatusWords kWords[] = {{400, "bad_request", "Not a valid HTTP request"},
                                           {401, "unauthorized", "A token is needed"},
                                           {403, "forbidden", "Refused"},
                                           {404, "not_found", "Not found"},
                                           {405, "method_not_allowed", "Another method is needed"},
                                           {406, "not_acceptable", "Only JSON is served"},
                                           {408, "timeout", "The request took too long to arrive"},
                                           {413, "too_large", "Over a limit"},
                                           {414, "uri_too_long", "The path is too long"},
                                           {415, "unsupported_media_type", "The body must be JSON"},
                                           {416, "range_not_satisfiable", "Ranges are not served"},
                                           {500, "internal", "Our own fault"}};
  for (const auto& row : kWords) {
    if (row.status == status) return row;
  }
  return {status, "http_error", "The request cannot be answered"};
}

HttpResponse response_of(Json body, int status) {
  return {status, to_text(body), "application/problem+json", {}};
}

Json base(const std::string& code, const std::string& title, int status, const std::string& detail,
          const std::string& path) {
  return {{"type", "urn:fsdp-expert:error:" + code}, {"title", title}, {"status", status}, {"detail", detail},
          {"instance", quote_input(path, 200)},      {"code", code}};
}

}  // namespace

HttpResponse problem(const Error& error, const std::string& path) {
  const auto& row = info(error.code);
  Json body = base(std::string(row.name), std::string(row.title), row.http_status,
                   error.field.empty() ? error.message : error.field + ": " + error.message, path);
  if (!error.hint.empty()) body["hint"] = error.hint;
  if (!error.field.empty()) body["field"] = error.field;
  for (const auto& detail : error.details) body["errors"].push_back(error_to_json(detail));
  return response_of(std::move(body), row.http_status);
}

HttpResponse problem(int status, const std::string& detail, const std::string& hint, const std::string& path) {
  const auto words = words_of(status);
  Json body = base(words.code, words.title, status, detail.empty() ? words.title : detail, path);
  if (!hint.empty()) body["hint"] = hint;
  return response_of(std::move(body), status);
}

}  // namespace fx::server
