#include "server/commands/validate.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "server/commands/call.h"
#include "server/commands/findings.h"
#include "server/commands/fix.h"
#include "server/commands/sarif.h"

namespace fx::server {
namespace {

// --fix and --diff need a file that can be named.
Result<void> apply_fixes(const std::string& file, const ValidateOptions& options) {
  if (file == "-")
    return invalid_argument("file", "standard input cannot be fixed in place", "give the name of a file");
  knowledge::Context context;
  if (options.gpus > 0) context.gpus = options.gpus;
  if (options.diff) {
    auto diff = fix_diff(file, context);
    if (!diff) return diff.error();
    std::fputs(diff->c_str(), stdout);
    return {};
  }
  auto fixed = fix_in_place(file, context);
  if (!fixed) return fixed.error();
  if (*fixed) std::fprintf(stderr, "%s: fixed\n", file.c_str());
  return {};
}

Result<Json> validate_file(Session& session, const std::string& file, const ValidateOptions& options) {
  if (options.fix || options.diff) {
    if (auto done = apply_fixes(file, options); !done) return done.error();
  }
  auto text = file == "-" ? read_stdin() : read_file(file);
  if (!text) return text.error();
  Json arguments = {{"text", *text}};
  if (file != "-") arguments["filename"] = std::filesystem::path(file).filename().string();
  if (options.gpus > 0) arguments["context"] = {{"gpus", options.gpus}};
  return ask(session, "validate_config", arguments);
}

}  // namespace

int validate_command(Session& session, const ValidateOptions& options) {
  Json all = Json::array();
  int errors = 0, failure = 0;
  for (const auto& file : options.files) {
    auto answer = validate_file(session, file, options);
    if (!answer) {
      failure = report(answer.error());
      all.push_back({{"file", file}, {"error", to_line(answer.error())}});
      continue;
    }
    errors += count_errors(*answer);
    if (options.format == "text" && !options.diff) print_findings(file, *answer);
    all.push_back({{"file", file}, {"answer", std::move(*answer)}});
  }
  if (options.format == "json" && !options.diff) print_json(all);
  if (options.format == "sarif" && !options.diff) print_json(sarif_document(all));
  if (failure != 0) return failure;
  return errors > 0 ? 1 : 0;
}

}  // namespace fx::server
