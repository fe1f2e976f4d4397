// The machine behind read_shell(): reads commands word by word and expands what can be known.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "knowledge/config/shell_script.h"

namespace fx::knowledge {

struct ShellVariable {
  ShellWord value;
  std::vector<ShellWord> items;
  bool is_array = false;
};

class ShellLexer {
 public:
  ShellLexer(std::string_view whole, ShellScript& out);
  void set_variable(const std::string& name, const std::string& value);
  void run();

 private:
  // A stretch of script text; nested ones (bash -c) keep the offsets of where their text was written.
  struct Source {
    std::string text;
    std::vector<std::uint32_t> offsets;
    bool in_task = false;
  };
  struct Body {  // of a heredoc
    Source source;
    bool literal = false;  // <<'EOF': nothing in it is expanded
  };
  struct Frame {  // one command being read
    std::vector<ShellWord> words;
    std::vector<Assignment> assignments;
    std::vector<Body> heredocs;
    std::string output;  // file that > or >> names
    bool ended_by_newline = false;
    std::uint32_t begin = 0;
  };

  void read_source(const Source& source, int depth);
  bool read_command(Frame& frame);
  bool skip_between_words(Frame& frame);
  bool skip_continuation();
  bool skip_redirection(Frame& frame);
  void read_heredoc_start();
  void read_heredoc_bodies(Frame& frame);
  bool read_assignment(Frame& frame);
  std::vector<ShellWord> read_array();
  void append_to_known(Assignment& assignment) const;
  std::vector<ShellWord> read_words(bool splitting);
  void read_double_quoted(std::vector<ShellWord>& fields, char end);
  void read_dollar(std::vector<ShellWord>& fields, bool quoted, bool splitting);
  void read_brace(std::vector<ShellWord>& fields, bool quoted, bool splitting);
  void read_substitution(std::vector<ShellWord>& fields, char open, char close, std::string_view shown);
  void read_arithmetic(std::vector<ShellWord>& fields);
  void expand(std::vector<ShellWord>& fields, const std::string& name, const std::string& fallback, bool has_fallback,
              bool quoted, bool splitting, std::uint32_t offset);
  void push_array(std::vector<ShellWord>& fields, const std::vector<ShellWord>& items, std::uint32_t offset);
  void push_text(ShellWord& word, char c, std::uint32_t offset);
  void push_unresolved(ShellWord& word, const std::string& name, const std::string& shown, std::uint32_t offset);

  void finish_command(Frame& frame, int depth);
  void export_names(const Frame& frame);
  void read_nested(const ShellCommand& command, int depth);
  void take_heredocs(std::vector<Body> bodies, const std::string& output, const ShellCommand& command, int depth);
  ShellWord expand_body(const Source& source);
  bool note_missing_backslash(const Frame& frame);

  void assign(Assignment assignment);
  std::optional<long long> evaluate(const std::string& expression) const;
  void place(ShellWord& word, std::uint32_t offset) const;
  int line_of(std::uint32_t offset) const;
  std::string key_on_line(int line) const;
  char peek(std::size_t ahead = 0) const;
  std::uint32_t offset() const;

  std::string_view whole_;
  std::vector<std::uint32_t> line_starts_;
  ShellScript& out_;
  std::map<std::string, ShellVariable, std::less<>> variables_;
  std::set<std::string, std::less<>> exported_;  // "export NAME"
  std::set<std::uint32_t> early_;                // "$" that an outer shell has already expanded
  const Source* source_ = nullptr;
  std::size_t at_ = 0;
  struct Delimiter {
    std::string word;
    bool tabs = false, literal = false;
  };
  std::vector<Delimiter> heredocs_;  // announced on this line, their bodies follow
  std::size_t budget_ = 400000;      // bytes of words we are willing to make
};

// Whole numbers, + - * / % and parentheses; names are looked up by the caller.
std::optional<long long> evaluate_arithmetic(std::string_view expression);

}  // namespace fx::knowledge
