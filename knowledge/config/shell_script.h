// A shell script read far enough to know which commands it runs, with which words, under which variables, and where
// each word stands. Nothing is executed. Variables, arrays, arithmetic, ${X:-default}, continuation lines, quotes,
// heredocs and `bash -c '...'` are followed; what only the running shell can know stays as "$NAME" and is listed as
// unresolved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fx::knowledge {

struct Unresolved {
  std::string name;      // "SLURM_PROCID", "RANDOM", "$(" for a command substitution
  bool in_task = false;  // expanded inside `srun bash -c '...'`, so once per task
};

struct ShellWord {
  std::string text;
  std::vector<std::uint32_t> offsets;  // per byte of text: its place in the script
  std::vector<Unresolved> unresolved;
  bool quoted = false;
  int line = 0, column = 0;

  bool resolved() const { return unresolved.empty(); }
};

struct Assignment {
  std::string name;
  ShellWord value;
  std::vector<ShellWord> items;  // NAME=( ... )
  bool is_array = false;
  bool exported = false;
  bool before_command = false;  // "A=1 torchrun ..."
  int line = 0, column = 0;
};

struct ShellCommand {
  std::vector<Assignment> environment;  // assignments in front of the command
  std::vector<ShellWord> words;         // at least one
  bool in_task = false;                 // inside `srun bash -c '...'`
  int line = 0;
};

struct Directive {   // #SBATCH --name=value
  std::string name;  // as written: "--nodes", "-N"
  std::string value;
  int line = 0, column = 0;
  bool after_command = false;
};

struct BrokenContinuation {
  std::string key;  // the flag or override on the broken line
  int line = 0;
  bool trailing_blank = false;  // "\ " at the end; otherwise the backslash is missing
};

struct Heredoc {  // what stands between "<<EOF" and "EOF"; one that a shell reads is among the commands instead
  std::string text;
  std::string file;      // where its command writes it: "cat > file <<EOF", "tee file <<EOF"; may be empty
  int line = 0;          // of its first line
  bool expands = false;  // the shell replaces $NAME in it
};

struct ShellScript {
  std::vector<Directive> directives;
  std::vector<Assignment> assignments;  // in order, the ones in front of commands too
  std::vector<ShellCommand> commands;   // assignments alone are not commands
  std::vector<BrokenContinuation> broken;
  std::vector<Heredoc> heredocs;
  bool only_assignments = false;
  bool complete = true;  // false: a limit was reached and the rest was not read

  // The last value given to a variable; nullptr when never assigned.
  const Assignment* variable(std::string_view name) const;
  const Directive* directive(std::string_view long_name, std::string_view short_name = {}) const;
};

ShellScript read_shell(std::string_view text);
// True for "--flag", "-f" and "+a.b=c", "a.b=c": what continues a command line.
bool is_flag_or_override(std::string_view word);

}  // namespace fx::knowledge
