#include "server/commands/diagnose.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "knowledge/causes/catalogue.h"
#include "knowledge/causes/diagnose.h"
#include "knowledge/log/log_reader.h"
#include "server/commands/call.h"
#include "tools/diagnosis_text.h"

namespace fx::server {
namespace {

// Standard input or files, each under its own name; a single one needs none. Streamed: a log may be larger than what is
// kept of it. Errors name the file.
Result<knowledge::Scene> read_scene(const std::vector<std::string>& paths) {
  knowledge::LogReader reader(knowledge::cause_marks());
  for (const auto& path : paths) {
    reader.begin(paths.size() == 1 ? "" : std::filesystem::path(path).filename().string());
    const auto read = stream_file(path, [&](std::string_view piece) { reader.feed(piece); });
    if (!read) return read.error();
  }
  return knowledge::make_scene(reader.finish(), {});
}

}  // namespace

int diagnose_command(const DiagnoseOptions& options) {
  const auto scene = read_scene(options.logs);
  if (!scene) return report(scene.error());
  const Diagnosis diagnosis = knowledge::diagnose(*scene);
  if (options.json) return print_json(to_json(diagnosis));
  tools::DiagnosisStyle style;
  style.color = ::isatty(STDOUT_FILENO) != 0;
  std::fputs(tools::diagnosis_text(diagnosis, *scene, style).c_str(), stdout);
  return 0;
}

}  // namespace fx::server
