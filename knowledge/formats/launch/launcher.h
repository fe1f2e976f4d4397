// The launch lines of a script: which launcher, its flags, the program it starts and that program's arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/config/node.h"
#include "knowledge/config/shell_script.h"

namespace fx::knowledge {

struct LaunchFlag {
  std::string_view name;   // underscores, without dashes in front
  std::string_view alias;  // short form or another name; may be empty
  bool takes_value = true;
  bool optional_value = false;
};

enum class Launcher { kTorchrun, kAccelerate, kTune, kDeepspeed, kPython };

struct Launch {
  Launcher launcher = Launcher::kPython;
  std::size_t command = 0;  // index into ShellScript::commands
  bool in_task = false;     // read inside `srun bash -c '...'`
  bool under_srun = false;  // srun, mpirun: several copies may start
  int line = 0;
  Node flags;           // the launcher's: name with underscores -> value; shown as typed
  Node unknown;         // flags in front of the program that the launcher does not have
  std::string program;  // script path or module; "" when it could not be told
  bool is_module = false;
  Node arguments;                // the program's "--flags": name as typed without dashes -> value
  std::vector<ShellWord> words;  // every word after the program

  const Node* flag(std::string_view name) const { return flags.find(name); }
};

std::vector<Launch> find_launches(const ShellScript& script);
// "--flag value", "--flag=value", bare "--flag" (true) of a word list, as one mapping. Values run to the next flag.
Node read_flags(const std::vector<ShellWord>& words, std::size_t begin);

const std::vector<LaunchFlag>& torchrun_flags();
const std::vector<LaunchFlag>& accelerate_flags();
std::vector<std::string> flag_names(const std::vector<LaunchFlag>& flags);
// A program's flag name with its dashes turned into underscores: "nproc-per-node" -> "nproc_per_node".
std::string flag_key(std::string_view word);

}  // namespace fx::knowledge
