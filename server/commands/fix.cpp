#include "server/commands/fix.h"

#include "base/file.h"
#include "base/line_diff.h"
#include "base/secret.h"
#include "knowledge/rules/repair.h"

namespace fx::server {
namespace {

struct Fixed {
  std::string before;
  std::optional<std::string> after;
};

Result<Fixed> fixed(const std::filesystem::path& file, const knowledge::Context& context) {
  auto text = read_file(file);
  if (!text) return text.error();
  Fixed out;
  out.before = std::move(text.value());
  const auto input = knowledge::read_input(out.before, file.filename().string(), context);
  out.after = knowledge::repair(input, {.replace_secrets = false}).text;
  return out;
}

}  // namespace

Result<bool> fix_in_place(const std::filesystem::path& file, const knowledge::Context& context) {
  auto both = fixed(file, context);
  if (!both) return both.error();
  if (!both->after) return false;
  std::error_code error;
  const auto target = std::filesystem::canonical(file, error);
  const auto mode = std::filesystem::status(target, error).permissions();
  if (auto written = write_file_atomic(target, *both->after); !written) return written.error();
  std::filesystem::permissions(target, mode, error);
  return true;
}

Result<std::string> fix_diff(const std::filesystem::path& file, const knowledge::Context& context) {
  auto both = fixed(file, context);
  if (!both) return both.error();
  if (!both->after) return std::string();
  const std::string name = file.string();
  return unified_diff(mask_secrets(both->before), mask_secrets(*both->after), name, name);
}

}  // namespace fx::server
