// One "key: value" of a text, as byte ranges: what a rename, a new value, a removal or an addition would touch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "knowledge/edit/splice.h"

namespace fx::knowledge {

struct Entry {
  enum class Form {
    kYamlBlock,
    kYamlFlow,
    kJson,
    kTomlLine,
    kTomlInline,
    kTomlTable,  // a [table] header: only its name can change
    kFlag,       // --flag value, --flag=value
    kOverride,   // key=value among a command's words
    kAssignment,
    kDirective,  // #SBATCH --name=value
    kKeyword     // Python's name=value
  };
  Form form = Form::kYamlBlock;
  Span key;                  // the name alone, without quotes, dashes and signs
  Span value;                // with its quotes; empty, where one would be written, when there is none
  Span whole;                // what goes when the entry is removed
  std::string lead;          // to be written in front of a value where there is none ("=", " ")
  std::string indent;        // blanks in front of the key, when it starts its line
  bool starts_line = false;  // nothing but blanks in front
  bool settable = true;      // the value is one token, or a nested block without comments
  bool removable = true;
};

// For the finders of members between brackets (JSON, Python calls): the value, and what follows from where the member,
// which starts at `at`, stands in its line.
void set_member_value(std::string_view text, std::size_t at, Span value, Entry& entry);

// Finders, one a syntax. at: where the key starts, as the reader of the syntax marks it; name: the key as it is read.
// They look at the text only, and give up (nullopt) on whatever they do not understand.
std::optional<Entry> yaml_entry(std::string_view text, std::size_t at, std::string_view name);
std::optional<Entry> json_entry(std::string_view text, std::size_t at, std::string_view name);
std::optional<Entry> toml_entry(std::string_view text, std::size_t at, std::string_view name);
std::optional<Entry> keyword_entry(std::string_view text, std::size_t at, std::string_view name);
// value: what the shell reads there after quotes are gone; nullopt when only the running shell knows.
std::optional<Entry> flag_entry(std::string_view text, std::size_t at, std::string_view name,
                                const std::optional<std::string>& value);
std::optional<Entry> override_entry(std::string_view text, std::size_t at, std::string_view name);
std::optional<Entry> assignment_entry(std::string_view text, std::size_t at, std::string_view name);
std::optional<Entry> directive_entry(std::string_view text, std::size_t at, std::string_view name);

}  // namespace fx::knowledge
