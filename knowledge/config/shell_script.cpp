#include "knowledge/config/shell_script.h"

#include <cctype>

#include "base/text.h"
#include "knowledge/config/shell_lexer.h"

namespace fx::knowledge {
namespace {

// What Slurm exports for a directive, when its value is a plain number.
struct SlurmVariable {
  std::string_view long_name, short_name, variable;
};
constexpr SlurmVariable kSlurmVariables[] = {
    {"--nodes", "-N", "SLURM_NNODES"},
    {"--nodes", "-N", "SLURM_JOB_NUM_NODES"},
    {"--ntasks-per-node", "", "SLURM_NTASKS_PER_NODE"},
    {"--gpus-per-node", "", "SLURM_GPUS_PER_NODE"},
    {"--gpus-per-node", "", "SLURM_GPUS_ON_NODE"},
    {"--gres", "", "SLURM_GPUS_ON_NODE"},
    {"--ntasks", "-n", "SLURM_NTASKS"},
};

// "#SBATCH --nodes=4  # comment" -> one directive an option.
void read_directive(std::string_view text, int line, int column, bool late, ShellScript& out) {
  const auto comment = text.find(" #");
  if (comment != std::string_view::npos) text = text.substr(0, comment);
  std::vector<std::string_view> words;
  for (const auto word : split(text, ' ')) {
    if (!trim(word).empty()) words.push_back(trim(word));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].front() != '-') continue;
    Directive directive;
    const auto equals = words[i].find('=');
    directive.name = std::string(words[i].substr(0, equals));
    directive.line = line;
    directive.column = column;
    directive.after_command = late;
    if (equals != std::string_view::npos) {
      directive.value = std::string(words[i].substr(equals + 1));
    } else if (i + 1 < words.size() && words[i + 1].front() != '-') {
      directive.value = std::string(words[++i]);
    } else if (words[i].size() > 2 && words[i][1] != '-') {
      directive.name = std::string(words[i].substr(0, 2));
      directive.value = std::string(words[i].substr(2));
    }
    out.directives.push_back(std::move(directive));
  }
}

void read_directives(std::string_view text, ShellScript& out) {
  int line = 0;
  bool late = false;
  for (const auto raw : split_lines(text)) {
    ++line;
    const auto body = trim(raw);
    if (raw.substr(0, 7) == "#SBATCH") {
      read_directive(raw.substr(7), line, 1, late, out);
    } else if (!body.empty() && body.front() != '#') {
      late = true;
    }
  }
}

std::string digits_of_gpus(const Directive& directive) {
  const auto colon = directive.value.rfind(':');
  const std::string count = colon == std::string::npos ? directive.value : directive.value.substr(colon + 1);
  if (directive.name == "--gres" && directive.value.rfind("gpu", 0) != 0) return "";
  return to_integer(count) ? count : "";
}

}  // namespace

const Assignment* ShellScript::variable(std::string_view name) const {
  for (auto a = assignments.rbegin(); a != assignments.rend(); ++a) {
    if (a->name == name) return &*a;
  }
  return nullptr;
}

const Directive* ShellScript::directive(std::string_view long_name, std::string_view short_name) const {
  for (const auto& d : directives) {
    if (!d.after_command && (d.name == long_name || (!short_name.empty() && d.name == short_name))) return &d;
  }
  return nullptr;
}

bool is_flag_or_override(std::string_view word) {
  if (word.size() >= 2 && word[0] == '-') {
    return word[1] == '-' ? word.size() > 2 && std::isalpha(static_cast<unsigned char>(word[2])) != 0
                          : std::isalpha(static_cast<unsigned char>(word[1])) != 0;
  }
  while (!word.empty() && (word.front() == '+' || word.front() == '~')) word.remove_prefix(1);
  const auto equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  if (equals == std::string_view::npos || key.find('.') == std::string_view::npos || key.front() == '.') return false;
  for (const char c : key) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') return false;
  }
  return true;
}

ShellScript read_shell(std::string_view text) {
  ShellScript out;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const std::string plain = contains(text, "\r\n") ? replace_all(std::string(text), "\r\n", "\n") : std::string(text);
  read_directives(plain, out);
  ShellLexer lexer(plain, out);
  for (const auto& row : kSlurmVariables) {
    const Directive* directive = out.directive(row.long_name, row.short_name);
    if (directive == nullptr) continue;
    const std::string value = digits_of_gpus(*directive);
    if (!value.empty()) lexer.set_variable(std::string(row.variable), value);
  }
  lexer.run();
  out.only_assignments = out.commands.empty() && !out.assignments.empty();
  return out;
}

}  // namespace fx::knowledge
