#include "knowledge/formats/launch/launcher.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kMaxFlags = 5000;  // of one command; the rest is not looked at

bool is_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 && word[1] != '.';
}

std::string file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

bool is_python(std::string_view word) {
  const std::string name = file_name(word);
  return name.rfind("python", 0) == 0 || name == "$PYTHON" || name == "uv";
}

Node value_node(const ShellWord& flag, std::string_view name, std::string text, bool quoted) {
  Node node;
  node.name = std::string(name);
  node.shown = flag.text.substr(0, flag.text.find('='));
  node.line = flag.line;
  node.column = flag.column;
  node.quoted = quoted;
  node.kind = text.empty() ? Node::Kind::kString : quoted ? Node::Kind::kString : yaml_kind(text);
  node.text = std::move(text);
  return node;
}

const LaunchFlag* known_flag(const std::vector<LaunchFlag>& table, std::string_view typed) {
  const std::string key = flag_key(typed);
  const LaunchFlag* by_prefix = nullptr;
  int matches = 0;
  for (const auto& flag : table) {
    if (flag.name == key || (!flag.alias.empty() && typed == "-" + std::string(flag.alias))) return &flag;
    if (typed.substr(0, 2) == "--" && key.size() >= 3 && flag.name.substr(0, key.size()) == key) {
      by_prefix = &flag;
      ++matches;
    }
  }
  return matches == 1 ? by_prefix : nullptr;
}

struct Start {
  Launcher launcher = Launcher::kPython;
  std::size_t next = 0;  // first word after the launcher's own
};

bool is_torch_run(std::string_view module) {
  return module == "torch.distributed.run" || module == "torch.distributed.launch" ||
         module == "torch.distributed.launcher";
}

// The launcher of a command line, wherever it stands in it (after srun, nohup, numactl, ray job submit --, docker run
// ...).
bool find_start(const std::vector<ShellWord>& words, Start& start) {
  static const std::array talkers = {"echo",    "printf", "which", "pip",   "grep", "sed",    "awk",
                                     "cat",     "cd",     "rm",    "mkdir", "ls",   "source", "apt",
                                     "apt-get", "conda",  "pip3",  "test",  "[",    "kill",   "pkill"};
  const std::string first = file_name(words.front().text);
  if (std::find(talkers.begin(), talkers.end(), first) != talkers.end()) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = file_name(words[i].text);
    const std::string after = i + 1 < words.size() ? words[i + 1].text : "";
    const std::string third = i + 2 < words.size() ? words[i + 2].text : "";
    if (name == "torchrun") return start = {Launcher::kTorchrun, i + 1}, true;
    if (name == "accelerate" && after == "launch") return start = {Launcher::kAccelerate, i + 2}, true;
    if (name == "tune" && after == "run") return start = {Launcher::kTune, i + 2}, true;
    if (name == "deepspeed") return start = {Launcher::kDeepspeed, i + 1}, true;
    if (!is_python(name)) continue;
    if (after == "-m" && is_torch_run(third)) return start = {Launcher::kTorchrun, i + 3}, true;
    if (after == "-m" && third == "accelerate.commands.launch") return start = {Launcher::kAccelerate, i + 3}, true;
    if (name == "uv" && after == "run") continue;
    return start = {Launcher::kPython, i + 1}, true;
  }
  return false;
}

// Python's own options in front of the script: -u, -m module, -X dev.
void read_python(Launch& launch, const std::vector<ShellWord>& words, std::size_t i) {
  for (; i < words.size() && is_flag(words[i].text); ++i) {
    if (words[i].text == "-m") {
      launch.is_module = true;
      ++i;
      break;
    }
    if (words[i].text == "-X" || words[i].text == "-W") ++i;
    if (words[i].text == "-c") return;
  }
  if (i >= words.size()) return;
  launch.program = words[i].text;
  launch.words.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
}

bool looks_like_program(std::string_view word) {
  return contains(word, ".py") || contains(word, "/") || contains(word, ".sh");
}

void read_launcher_flags(Launch& launch, const std::vector<ShellWord>& words, std::size_t i,
                         const std::vector<LaunchFlag>& table) {
  for (; i < words.size(); ++i) {
    const ShellWord& word = words[i];
    if (!is_flag(word.text)) break;
    if (word.text == "--") continue;
    const auto equals = word.text.find('=');
    const std::string typed = word.text.substr(0, equals);
    const LaunchFlag* flag = known_flag(table, typed);
    const bool has_next = i + 1 < words.size() && !is_flag(words[i + 1].text);
    std::string text = equals == std::string::npos ? "" : word.text.substr(equals + 1);
    bool quoted = word.quoted && equals != std::string::npos && !contains(typed, "\"");
    const bool wants = flag != nullptr ? flag->takes_value : has_next && !looks_like_program(words[i + 1].text);
    // A boolean that wants true/false swallows the program's name; say so elsewhere, read on here.
    const bool swallow = flag != nullptr && has_next && looks_like_program(words[i + 1].text) &&
                         words[i + 1].text.size() > 3 &&
                         words[i + 1].text.substr(words[i + 1].text.size() - 3) == ".py";
    if (equals == std::string::npos && wants && has_next && !swallow) {
      ++i;
      text = words[i].text;
      quoted = words[i].quoted;
    }
    if (flag == nullptr) {
      launch.unknown.children.push_back(value_node(word, flag_key(typed), std::move(text), quoted));
      continue;
    }
    if (!flag->takes_value && text.empty()) text = "true";
    launch.flags.children.push_back(value_node(word, flag->name, std::move(text), quoted));
    launch.flags.children.back().quoted = quoted;
    if (flag->name == "module") launch.is_module = true;
  }
  if (i >= words.size()) return;
  launch.program = words[i].text;
  launch.words.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
}

void read_deepspeed(Launch& launch, const std::vector<ShellWord>& words, std::size_t i) {
  while (i < words.size() && !contains(words[i].text, ".py")) ++i;
  if (i >= words.size()) return;
  launch.program = words[i].text;
  launch.words.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
}

}  // namespace

std::string flag_key(std::string_view word) {
  while (!word.empty() && word.front() == '-') word.remove_prefix(1);
  std::string key(word.substr(0, word.find('=')));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

Node read_flags(const std::vector<ShellWord>& words, std::size_t begin) {
  Node out;
  out.kind = Node::Kind::kMap;
  for (std::size_t i = begin; i < words.size() && out.children.size() < kMaxFlags; ++i) {
    const ShellWord& word = words[i];
    if (word.text.size() < 3 || word.text.substr(0, 2) != "--") continue;
    const auto equals = word.text.find('=');
    const std::string name = word.text.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::string text = equals == std::string::npos ? "" : word.text.substr(equals + 1);
    bool quoted = false, any = equals != std::string::npos;
    while (equals == std::string::npos && i + 1 < words.size() && !is_flag(words[i + 1].text)) {
      ++i;
      text += (any ? " " : "") + words[i].text;
      quoted = quoted || words[i].quoted;
      any = true;
    }
    Node node = value_node(word, flag_key(name), any ? text : "true", quoted);
    if (!any) node.kind = Node::Kind::kBool;
    out.children.push_back(std::move(node));
  }
  return out;
}

std::vector<Launch> find_launches(const ShellScript& script) {
  std::vector<Launch> launches;
  for (std::size_t c = 0; c < script.commands.size(); ++c) {
    const ShellCommand& command = script.commands[c];
    Start start;
    if (!find_start(command.words, start)) continue;
    Launch launch;
    launch.launcher = start.launcher;
    launch.command = c;
    launch.in_task = command.in_task;
    launch.line = command.words[start.next > 0 ? start.next - 1 : 0].line;
    const std::string first = file_name(command.words.front().text);
    launch.under_srun = command.in_task || first == "srun" || first == "mpirun" || first == "mpiexec";
    launch.flags.kind = launch.unknown.kind = launch.arguments.kind = Node::Kind::kMap;
    switch (start.launcher) {
      case Launcher::kTorchrun:
      case Launcher::kTune:
        read_launcher_flags(launch, command.words, start.next, torchrun_flags());
        break;
      case Launcher::kAccelerate:
        read_launcher_flags(launch, command.words, start.next, accelerate_flags());
        break;
      case Launcher::kDeepspeed:
        read_deepspeed(launch, command.words, start.next);
        break;
      case Launcher::kPython:
        read_python(launch, command.words, start.next);
        break;
    }
    launch.arguments = read_flags(launch.words, 0);
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace fx::knowledge
