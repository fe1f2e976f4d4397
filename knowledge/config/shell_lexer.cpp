// Commands: words, assignments, redirections, heredocs, continuation lines.
#include "knowledge/config/shell_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kMaxCommands = 20000;
constexpr int kMaxNesting = 4;

bool is_keyword(const std::string& word) {
  static const std::array words = {"if", "then", "else", "elif", "fi",   "do",    "done", "while", "until",
                                   "{",  "}",    "!",    "time", "exec", "nohup", "sudo", "env",   "command"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Commands that run their argument on other machines, or several times.
bool starts_tasks(const std::string& name) {
  return name == "srun" || name == "mpirun" || name == "pdsh" || name == "ssh";
}

// "bash", "srun bash -s", "ssh host": the standard input is a script. "bash run.sh" is not.
bool feeds_a_shell(const std::vector<ShellWord>& words) {
  bool shell = words.front().text == "ssh";
  for (const ShellWord& word : words) {
    const std::string name = word.text.substr(word.text.rfind('/') == std::string::npos ? 0 : word.text.rfind('/') + 1);
    if (name == "bash" || name == "sh" || name == "zsh") {
      shell = true;
    } else if (shell && words.front().text != "ssh" && word.text.rfind("-", 0) != 0) {
      return false;
    }
  }
  return shell;
}

}  // namespace

ShellLexer::ShellLexer(std::string_view whole, ShellScript& out) : whole_(whole), out_(out) {
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

void ShellLexer::set_variable(const std::string& name, const std::string& value) {
  variables_[name].value.text = value;
}

void ShellLexer::run() {
  Source source;
  source.text = std::string(whole_);
  source.offsets.resize(whole_.size());
  for (std::size_t i = 0; i < whole_.size(); ++i) source.offsets[i] = static_cast<std::uint32_t>(i);
  read_source(source, 0);
  for (auto& assignment : out_.assignments) {
    if (exported_.count(assignment.name) != 0) assignment.exported = true;
  }
}

char ShellLexer::peek(std::size_t ahead) const {
  return at_ + ahead < source_->text.size() ? source_->text[at_ + ahead] : '\0';
}

std::uint32_t ShellLexer::offset() const {
  if (source_->offsets.empty()) return 0;
  return source_->offsets[std::min(at_, source_->offsets.size() - 1)];
}

int ShellLexer::line_of(std::uint32_t offset) const {
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<int>(next - line_starts_.begin());
}

void ShellLexer::place(ShellWord& word, std::uint32_t offset) const {
  word.line = line_of(offset);
  word.column = static_cast<int>(offset - line_starts_[static_cast<std::size_t>(word.line - 1)]) + 1;
}

void ShellLexer::read_source(const Source& source, int depth) {
  const Source* outer = source_;
  const std::size_t outer_at = at_;
  source_ = &source;
  at_ = 0;
  while (at_ < source.text.size() && out_.commands.size() < kMaxCommands) {
    Frame frame;
    frame.begin = offset();
    read_command(frame);
    finish_command(frame, depth);
  }
  if (at_ < source.text.size()) out_.complete = false;
  source_ = outer;
  at_ = outer_at;
}

// Reads to the end of one simple command. False when there was nothing.
bool ShellLexer::read_command(Frame& frame) {
  while (skip_between_words(frame)) {
    if (frame.words.empty() && read_assignment(frame)) continue;
    auto fields = read_words(true);
    for (auto& field : fields) {
      if (field.text.empty() && !field.quoted) continue;
      if (frame.words.empty() && is_keyword(field.text)) continue;
      frame.words.push_back(std::move(field));
    }
  }
  return !frame.words.empty();
}

// Moves to the next word; false at the end of the command, which is consumed.
bool ShellLexer::skip_between_words(Frame& frame) {
  while (at_ < source_->text.size()) {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '\\' && skip_continuation()) {
      continue;
    } else if (c == '#') {
      while (at_ < source_->text.size() && peek() != '\n') ++at_;
    } else if (c == '\n') {
      ++at_;
      read_heredoc_bodies(frame);
      frame.ended_by_newline = true;
      return false;
    } else if (c == '<' || c == '>' || (c == '&' && peek(1) == '>')) {
      skip_redirection(frame);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 && (peek(1) == '>' || peek(1) == '<')) {
      ++at_;
    } else if (c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
      ++at_;
      return false;
    } else {
      return true;
    }
  }
  return false;
}

// "\<newline>", and "\<blanks><newline>" which was meant as one.
bool ShellLexer::skip_continuation() {
  std::size_t end = at_ + 1;
  while (end < source_->text.size() &&
         (source_->text[end] == ' ' || source_->text[end] == '\t' || source_->text[end] == '\r'))
    ++end;
  if (end < source_->text.size() && source_->text[end] != '\n') return false;
  if (end > at_ + 1 && end + 1 < source_->text.size()) {
    const auto next = source_->text.find_first_not_of(" \t\n", end);
    if (next != std::string::npos && source_->text.find('\n', end + 1) > next) {
      const int line = line_of(offset());
      out_.broken.push_back({key_on_line(line), line, true});
    }
  }
  at_ = std::min(end + 1, source_->text.size());
  return true;
}

bool ShellLexer::skip_redirection(Frame& frame) {
  if (peek() == '<' && peek(1) == '<' && peek(2) != '<') {
    read_heredoc_start();
    return true;
  }
  if ((peek() == '<' || peek() == '>') && peek(1) == '(') {  // process substitution
    ++at_;
    std::vector<ShellWord> ignored(1);
    read_substitution(ignored, '(', ')', "");
    return true;
  }
  const bool writes = peek() == '>';
  while (peek() == '<' || peek() == '>' || peek() == '&' || peek() == '|') ++at_;
  while (peek() == ' ' || peek() == '\t') ++at_;
  if (at_ < source_->text.size() && peek() != '\n') {
    const auto words = read_words(false);
    if (writes) frame.output = words.front().text;
  }
  return true;
}

// NAME=value, NAME+=value, NAME=( items ).
bool ShellLexer::read_assignment(Frame& frame) {
  std::size_t end = at_;
  const auto name_char = [&](std::size_t i) {
    return i < source_->text.size() &&
           (std::isalnum(static_cast<unsigned char>(source_->text[i])) != 0 || source_->text[i] == '_');
  };
  if (!name_char(at_) || std::isdigit(static_cast<unsigned char>(peek())) != 0) return false;
  while (name_char(end)) ++end;
  const bool append = end + 1 < source_->text.size() && source_->text[end] == '+' && source_->text[end + 1] == '=';
  if (!append && (end >= source_->text.size() || source_->text[end] != '=')) return false;
  Assignment assignment;
  assignment.name = source_->text.substr(at_, end - at_);
  ShellWord here;
  place(here, offset());
  assignment.line = here.line;
  assignment.column = here.column;
  at_ = end + (append ? 2 : 1);
  if (peek() == '(') {
    assignment.is_array = true;
    assignment.items = read_array();
    assignment.value.line = 0;
  } else if (at_ < source_->text.size() && std::string_view(" \t\n\r;&|").find(peek()) == std::string_view::npos) {
    assignment.value = read_words(false).front();
  }
  if (append) append_to_known(assignment);
  frame.assignments.push_back(std::move(assignment));
  return true;
}

// "(a b c)" over several lines, comments left out.
std::vector<ShellWord> ShellLexer::read_array() {
  std::vector<ShellWord> items;
  ++at_;
  while (at_ < source_->text.size() && peek() != ')') {
    if (peek() == '#') {
      while (at_ < source_->text.size() && peek() != '\n') ++at_;
    } else if (std::string_view(" \t\n\r").find(peek()) != std::string_view::npos) {
      ++at_;
    } else if (peek() != '\\' || !skip_continuation()) {
      for (auto& word : read_words(true)) items.push_back(std::move(word));
    }
  }
  ++at_;
  return items;
}

// NAME+=...: what the variable holds goes first.
void ShellLexer::append_to_known(Assignment& assignment) const {
  const auto found = variables_.find(assignment.name);
  if (found == variables_.end()) return;
  if (assignment.is_array) {
    assignment.items.insert(assignment.items.begin(), found->second.items.begin(), found->second.items.end());
    return;
  }
  ShellWord whole = found->second.value;
  const ShellWord& added = assignment.value;
  whole.text += added.text;
  whole.offsets.resize(whole.text.size() - added.text.size(), 0);
  whole.offsets.insert(whole.offsets.end(), added.offsets.begin(), added.offsets.end());
  whole.unresolved.insert(whole.unresolved.end(), added.unresolved.begin(), added.unresolved.end());
  assignment.value = std::move(whole);
}

void ShellLexer::assign(Assignment assignment) {
  ShellVariable& variable = variables_[assignment.name];
  variable.value = assignment.value;
  variable.items = assignment.items;
  variable.is_array = assignment.is_array;
  out_.assignments.push_back(std::move(assignment));
}

void ShellLexer::finish_command(Frame& frame, int depth) {
  if (frame.words.empty()) {
    for (auto& assignment : frame.assignments) assign(std::move(assignment));
    return;
  }
  const std::string& name = frame.words.front().text;
  if (name == "export" || name == "declare" || name == "local" || name == "readonly" || name == "typeset") {
    export_names(frame);
    return;
  }
  if (note_missing_backslash(frame)) {  // read on as if the command went on: that is what was meant
    auto& words = out_.commands.back().words;
    for (auto& word : frame.words) words.push_back(std::move(word));
    return;
  }
  ShellCommand command;
  command.words = std::move(frame.words);
  command.in_task = source_->in_task;
  command.line = command.words.front().line;
  for (auto& assignment : frame.assignments) {
    assignment.before_command = true;
    assignment.exported = true;
    out_.assignments.push_back(assignment);
  }
  command.environment = std::move(frame.assignments);
  out_.commands.push_back(command);
  if (depth < kMaxNesting) read_nested(command, depth);
  take_heredocs(std::move(frame.heredocs), frame.output, command, depth);
}

// "export A=1 B": the words after export are assignments or names.
void ShellLexer::export_names(const Frame& frame) {
  const bool exported =
      frame.words.front().text == "export" ||
      (frame.words.size() > 1 && frame.words[1].text.find('x') != std::string::npos && frame.words[1].text[0] == '-');
  for (std::size_t i = 1; i < frame.words.size(); ++i) {
    const ShellWord& word = frame.words[i];
    if (word.text.empty() || word.text[0] == '-') continue;
    const auto equals = word.text.find('=');
    if (equals == std::string::npos) {
      exported_.insert(word.text);
      continue;
    }
    Assignment assignment;
    assignment.name = word.text.substr(0, equals);
    assignment.value = word;
    assignment.value.text = word.text.substr(equals + 1);
    assignment.value.offsets.assign(word.offsets.begin() + static_cast<std::ptrdiff_t>(equals) + 1, word.offsets.end());
    assignment.exported = exported;
    assignment.line = word.line;
    assignment.column = word.column;
    assign(std::move(assignment));
  }
}

// bash -c '...', eval "...", ssh host "...", and launch lines quoted as one word.
void ShellLexer::read_nested(const ShellCommand& command, int depth) {
  const std::string& name = command.words.front().text;
  if (name == "echo" || name == "printf" || name == "grep" || name == "sed" || name == "awk") return;
  const bool task = command.in_task || starts_tasks(name);
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const ShellWord& word = command.words[i];
    const std::string& before = command.words[i - 1].text;
    const bool script = (before.size() >= 2 && before[0] == '-' && before[1] != '-' && before.back() == 'c') ||
                        name == "eval" || contains(word.text, "torchrun ") || contains(word.text, "accelerate launch ");
    if (!script || !word.quoted || !contains(word.text, " ")) continue;
    Source nested;
    nested.text = word.text;
    nested.offsets = word.offsets;
    nested.offsets.resize(nested.text.size(), 0);
    nested.in_task = task;
    read_source(nested, depth + 1);
  }
}

// What the shell makes of a heredoc before its command reads it.
ShellWord ShellLexer::expand_body(const Source& source) {
  const Source* outer = source_;
  const std::size_t outer_at = at_;
  source_ = &source;
  at_ = 0;
  std::vector<ShellWord> fields(1);
  read_double_quoted(fields, '\0');
  source_ = outer;
  at_ = outer_at;
  return std::move(fields.front());
}

void ShellLexer::take_heredocs(std::vector<Body> bodies, const std::string& output, const ShellCommand& command,
                               int depth) {
  for (Body& body : bodies) {
    if (body.source.text.empty()) continue;
    if (!feeds_a_shell(command.words)) {
      const bool tee = command.words.front().text == "tee" && command.words.size() > 1;
      out_.heredocs.push_back({body.source.text, tee ? command.words.back().text : output,
                               line_of(body.source.offsets.front()), !body.literal});
    } else if (depth < kMaxNesting) {
      if (!body.literal) {
        ShellWord expanded = expand_body(body.source);
        body.source.text = std::move(expanded.text);
        body.source.offsets = std::move(expanded.offsets);
      }
      body.source.offsets.resize(body.source.text.size(), 0);
      body.source.in_task = command.in_task || starts_tasks(command.words.front().text);
      read_source(body.source, depth + 1);
    }
  }
}

// A command that starts with a flag or an override: the line before lacks its backslash.
bool ShellLexer::note_missing_backslash(const Frame& frame) {
  const ShellWord& first = frame.words.front();
  if (!is_flag_or_override(first.text) || first.quoted || out_.commands.empty()) return false;
  if (first.text[0] == '-' && first.text.substr(0, 2) != "--") return false;
  const ShellCommand& last = out_.commands.back();
  int line = last.line;
  for (const auto& word : last.words) line = std::max(line, word.line);
  // Only when nothing but comments and blanks lies between the two commands.
  for (int between = line + 1; between < first.line; ++between) {
    const auto begin = line_starts_[static_cast<std::size_t>(between - 1)];
    const auto text = trim(whole_.substr(begin, whole_.find('\n', begin) - begin));
    if (!text.empty() && text.front() != '#') return false;
  }
  if (first.line <= line) return false;
  out_.broken.push_back({key_on_line(line), line, false});
  return true;
}

std::string ShellLexer::key_on_line(int line) const {
  const auto begin = line_starts_[static_cast<std::size_t>(line - 1)];
  const auto text = whole_.substr(begin, whole_.find('\n', begin) - begin);
  std::string first;
  for (const auto word : split(text, ' ')) {
    const auto body = trim(word);
    if (body.empty() || body == "\\") continue;
    if (first.empty()) first = std::string(body);
    if (is_flag_or_override(body)) return std::string(body.substr(0, body.find('=')));
  }
  return quote_input(first, 80);
}

}  // namespace fx::knowledge
