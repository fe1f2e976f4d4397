// From bytes to a syntax: cheap looks at lines, no parsing.
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "knowledge/formats/recognise.h"

namespace fx::knowledge {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// "key: value" or "key:" at the start of a line; gives the key's end, 0 when it is none.
std::size_t yaml_key_end(std::string_view line) {
  std::size_t end = 0;
  const bool quoted = !line.empty() && (line[0] == '"' || line[0] == '\'');
  if (quoted) ++end;
  while (end < line.size() && (is_word(line[end]) || line[end] == '-' || line[end] == '.' || line[end] == '<')) ++end;
  if (quoted && end < line.size() && line[end] == line[0]) ++end;
  if (end == 0 || end >= line.size() || line[end] != ':') return 0;
  return end + 1 == line.size() || line[end + 1] == ' ' || line[end + 1] == '\t' || line[end + 1] == '\r' ? end : 0;
}

bool is_toml_table(std::string_view line) {
  if (line.size() < 3 || line.front() != '[') return false;
  const auto close = line.find(']');
  if (close == std::string_view::npos || close < 2) return false;
  for (const char c : line.substr(1, close - 1)) {
    if (!is_word(c) && c != '.' && c != '-' && c != '"' && c != '[' && c != ' ') return false;
  }
  const auto rest = trim(line.substr(close + 1));
  return rest.empty() || rest.front() == '#' || rest.front() == ']';
}

struct Counts {
  int lines = 0, yaml = 0, list = 0, env = 0, toml_table = 0, toml_pair = 0, python = 0, sbatch = 0, launch = 0;
};

bool is_python_line(std::string_view line) {
  for (const std::string_view start : {"import ", "from ", "def ", "class ", "@", "if __name__"}) {
    if (line.substr(0, start.size()) == start) {
      return start != "from " || contains(line, " import ");
    }
  }
  return false;
}

bool has_launcher(std::string_view line) {
  for (const std::string_view name :
       {"torchrun", "accelerate launch", "torch.distributed.run", "torch.distributed.launch", "tune run", "python -m",
        "python3 -m", "deepspeed ", "srun "}) {
    if (contains(line, name)) return true;
  }
  return (line.substr(0, 7) == "python " || line.substr(0, 8) == "python3 ") && contains(line, ".py");
}

Counts count_lines(std::string_view text) {
  Counts n;
  for (const auto raw : split_lines(text)) {
    if (raw.substr(0, 7) == "#SBATCH") ++n.sbatch;
    const auto body = trim(raw);
    if (body.empty() || body.front() == '#') continue;
    if (has_launcher(body)) ++n.launch;
    if (raw.front() == ' ' || raw.front() == '\t') continue;
    ++n.lines;
    if (yaml_key_end(raw) > 0) ++n.yaml;
    if (raw.substr(0, 2) == "- " || body == "-" || body == "---") ++n.list;
    if (is_env_line(raw)) ++n.env;
    if (is_toml_table(raw)) ++n.toml_table;
    if (contains(raw, " = ") || (contains(raw, "=") && !is_env_line(raw))) ++n.toml_pair;
    if (is_python_line(raw)) ++n.python;
  }
  return n;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

void collect(const Node& node, bool top, KeyNames& out) {
  for (const Node& child : node.children) {
    if (!child.name.empty()) (top ? out.top : out.nested).push_back(child.name);
    if (out.nested.size() < 2000) collect(child, false, out);
  }
}

void scan_json_keys(std::string_view text, KeyNames& out) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '[') ++depth;
    if (text[i] == '}' || text[i] == ']') --depth;
    if (text[i] != '"') continue;
    const auto end = text.find('"', i + 1);
    if (end == std::string_view::npos) return;
    const auto after = text.find_first_not_of(" \t\r\n", end + 1);
    if (after != std::string_view::npos && text[after] == ':') {
      (depth <= 1 ? out.top : out.nested).emplace_back(text.substr(i + 1, end - i - 1));
    }
    i = end;
  }
}

void scan_line_keys(std::string_view text, bool toml, KeyNames& out) {
  bool in_table = false;
  for (const auto raw : split_lines(text)) {
    const auto body = trim(raw);
    if (body.empty() || body.front() == '#') continue;
    if (toml) {
      if (is_toml_table(body)) {
        in_table = true;
        out.top.emplace_back(body.substr(1, body.find_first_of("].") - 1));
      } else if (const auto equals = body.find('='); equals != std::string_view::npos) {
        (in_table ? out.nested : out.top).emplace_back(trim(body.substr(0, equals)));
      }
      continue;
    }
    const std::size_t end = yaml_key_end(body);
    if (end == 0) continue;
    const std::string key(body.substr(0, end));
    (raw.front() == ' ' || raw.front() == '\t' ? out.nested : out.top).push_back(key);
  }
}

}  // namespace

bool is_env_line(std::string_view line) {
  if (line.substr(0, 7) == "export ") line.remove_prefix(7);
  std::size_t end = 0;
  while (end < line.size() && is_word(line[end])) ++end;
  return end > 0 && std::isdigit(static_cast<unsigned char>(line[0])) == 0 && end < line.size() && line[end] == '=';
}

std::string guess_syntax(std::string_view text, std::string_view filename) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const auto body = trim(text);
  if (body.empty()) return "text";
  const Counts n = count_lines(text);
  if (body.substr(0, 2) == "#!") return contains(body.substr(0, body.find('\n')), "python") ? "python" : "shell";
  if (n.sbatch > 0) return "shell";
  if (body.front() == '{') return "json";
  if (n.toml_table > 0 && n.toml_pair + n.toml_table + n.env > n.yaml) return "toml";
  if (ends_with(filename, ".toml") && n.yaml == 0) return "toml";
  if (n.python > 0 && n.python >= n.yaml && !ends_with(filename, ".sh")) return "python";
  const bool yaml_name = ends_with(filename, ".yaml") || ends_with(filename, ".yml");
  if (n.lines > 0 && (n.yaml + n.list) * 2 > n.lines) return "yaml";
  if (yaml_name && n.yaml > 0) return "yaml";
  if (ends_with(filename, ".json") && body.front() == '[') return "json";
  if (n.launch > 0 || (n.env > 0 && n.env * 2 >= n.lines)) return "shell";
  if (ends_with(filename, ".sh") || ends_with(filename, ".sbatch") || ends_with(filename, ".slurm")) return "shell";
  return yaml_name ? "yaml" : "text";
}

KeyNames key_names(const Document& document, std::string_view text, const std::string& syntax) {
  KeyNames out;
  out.text = text;
  if (!document.error) {
    collect(document.root, true, out);
  } else if (syntax == "json") {
    scan_json_keys(text, out);
  } else {
    scan_line_keys(text, syntax == "toml", out);
  }
  return out;
}

}  // namespace fx::knowledge
