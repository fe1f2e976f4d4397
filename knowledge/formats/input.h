// A text handed to validate_config, read once: which format it is, its tree or script, and the caller's context.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/config/node.h"
#include "knowledge/config/shell_script.h"
#include "knowledge/formats/context.h"
#include "knowledge/formats/launch/launcher.h"

namespace fx::knowledge {

// One bit a format, so that a rule can name several. A script has several at once: the launcher's and the program's.
enum Format : std::uint32_t {
  kAccelerateYaml = 1u << 0,
  kTrainerCli = 1u << 1,
  kFsdpConfigJson = 1u << 2,
  kTrainingArgsJson = 1u << 3,
  kAxolotlYaml = 1u << 4,
  kTorchtitanToml = 1u << 5,
  kTorchtitanCli = 1u << 6,
  kTorchtitanPython = 1u << 7,
  kTorchtuneYaml = 1u << 8,
  kVerlOverrides = 1u << 9,
  kSlimeCli = 1u << 10,
  kTorchrunCommand = 1u << 11,
  kAccelerateLaunch = 1u << 12,
  kSbatchScript = 1u << 13,
  kEnvFile = 1u << 14,
  kDeepspeedJson = 1u << 15,
  kLlamafactoryYaml = 1u << 16,
  kShell = 1u << 17,  // any script, whatever else it is
  kRunSpec = 1u << 18,
};
inline constexpr std::uint32_t kAnyFormat = 0xFFFFFFFFu;

struct FormatName {
  Format format;
  std::string_view name;
};
const std::vector<FormatName>& format_names();
std::string_view to_string(Format format);

struct Input {
  std::string text;
  std::string filename;
  Context context;

  bool applicable = false;
  Format format = kShell;     // the one that names the answer
  std::uint32_t formats = 0;  // all that apply
  std::string seems;          // when not applicable: what it looks like
  std::string pointer;        // and where to go instead

  std::string syntax;  // "yaml", "json", "toml", "shell", "python"
  Document document;   // yaml, json, toml; for python the keyword arguments
  ShellScript script;
  std::vector<Launch> launches;

  const Node& root() const { return document.root; }
  bool is(std::uint32_t mask) const { return (formats & mask) != 0; }
  // The launch whose program arguments carry this flag; nullptr when none does.
  const Launch* launch_with(std::string_view argument) const;
  // The launch whose program (script or module) contains this text.
  const Launch* launch_of(std::string_view program) const;
};

// Never fails: a text nobody knows is not applicable.
Input read_input(std::string_view text, std::string_view filename, Context context);

// The key names of a structured text, also of one that does not parse.
struct KeyNames {
  std::vector<std::string> top;     // at the left margin, or of the outer object
  std::vector<std::string> nested;  // all others, without their path
  std::string_view text;

  bool has(std::string_view name) const;
  bool has_nested(std::string_view name) const;
  int count(const std::vector<std::string_view>& names) const;  // how many of them stand at the top
};

}  // namespace fx::knowledge
