// A torchtitan configuration written in Python: constructor calls, attribute assignments, replace(), dictionaries and
// class defaults, each as the settings of one section.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/text.h"
#include "knowledge/formats/torchtitan/torchtitan.h"
#include "knowledge/python/syntax.h"

namespace fx::knowledge {
namespace {

using Syntax = python::Syntax;
using Code = python::Node;

constexpr std::size_t kMaxSettings = 5000;

// "ParallelismConfig", "CheckpointManager.Config", "parallelism" -> the section; "" for anything else.
std::string section_of(std::string_view name) {
  struct Alias {
    std::string_view name, section;
  };
  static constexpr std::array aliases = {
      Alias{"checkpointmanager", "checkpoint"},       Alias{"lrscheduler", "lr_scheduler"},
      Alias{"lrschedulerscontainer", "lr_scheduler"}, Alias{"optimizerscontainer", "optimizer"},
      Alias{"metricsprocessor", "metrics"},           Alias{"parallelismconfig", "parallelism"},
      Alias{"parallelconfig", "parallelism"}};
  std::string low = to_lower(name);
  for (const std::string_view tail : {".config", "config"}) {
    if (low.size() > tail.size() && low.compare(low.size() - tail.size(), tail.size(), tail) == 0) {
      low.resize(low.size() - tail.size());
      break;
    }
  }
  low = low.substr(low.rfind('.') + 1);
  low = replace_all(low, "_", "");
  for (const Alias& alias : aliases) {
    if (low == alias.name) return std::string(alias.section);
  }
  for (const TitanSection& section : titan_sections()) {
    if (low == replace_all(std::string(section.name), "_", "")) return std::string(section.name);
  }
  return "";
}

bool is_literal(const Code& code) {
  return code.is("string") || code.is("integer") || code.is("float") || code.is("true") || code.is("false") ||
         code.is("none") || code.is("unary_operator");
}

class Reader {
 public:
  explicit Reader(const Syntax& syntax) : syntax_(syntax) { find_constants(); }

  Node run() {
    root_.kind = Node::Kind::kMap;
    for (std::uint32_t i = 0; i < syntax_.size() && settings_ < kMaxSettings; ++i) {
      const Code code = syntax_.at(i);
      if (code.is("call")) read_call(code);
      if (code.is("dictionary")) read_dictionary(code);
      if (code.is("assignment")) read_assignment(code);
    }
    return std::move(root_);
  }

 private:
  // Names bound once in the file, to a literal.
  void find_constants() {
    std::map<std::string_view, int> bound;
    for (std::uint32_t i = 0; i < syntax_.size(); ++i) {
      const Code code = syntax_.at(i);
      if (!code.is("assignment") || !code.child("left").is("identifier")) continue;
      const std::string_view name = code.child("left").text();
      if (++bound[name] == 1 && is_literal(code.child("right"))) {
        constants_[name] = code.child("right");
      } else {
        constants_.erase(name);
      }
    }
  }

  void set_value(Node& node, Code code) const {
    if (code.is("identifier")) {
      const auto found = constants_.find(code.text());
      if (found != constants_.end()) code = found->second;
    }
    const std::string_view text = code.text();
    const auto quote = text.find_first_of("\"'");
    node.quoted = code.is("string") && quote == 0 && text.size() >= 2;
    node.text = std::string(node.quoted ? text.substr(1, text.size() - 2) : text.substr(0, 200));
    if (code.is("none")) node.text.clear();
    node.kind = node.quoted ? Node::Kind::kString : is_literal(code) ? yaml_kind(node.text) : Node::Kind::kString;
  }

  void add(Node& section, const Code& key, std::string_view name, const Code& value) {
    Node node;
    node.name = node.shown = std::string(name);
    node.line = key.line();
    node.column = key.column();
    set_value(node, value);
    section.children.push_back(std::move(node));
    ++settings_;
  }

  void keep(Node section, const std::string& name, int line) {
    if (name.empty() || section.children.empty()) return;
    section.kind = Node::Kind::kMap;
    section.name = section.shown = name;
    section.line = line;
    root_.children.push_back(std::move(section));
  }

  // The section of the keyword or attribute that receives this expression.
  static std::string receiver(const Code& code) {
    const Code parent = code.parent();
    if (parent.is("keyword_argument")) return section_of(parent.child("name").text());
    if (parent.is("assignment")) return section_of(parent.child("left").text());
    if (parent.is("pair")) return section_of(unquoted(parent.child("key").text()));
    return "";
  }
  static std::string_view unquoted(std::string_view text) {
    return text.size() >= 2 && (text.front() == '"' || text.front() == '\'') ? text.substr(1, text.size() - 2) : text;
  }

  void read_call(const Code& call) {
    Node section;
    const Code arguments = call.child("arguments");
    std::string copied;  // dataclasses.replace(config.parallelism, ...)
    for (const Code& argument : arguments.children()) {
      if (argument.is("keyword_argument")) {
        add(section, argument.child("name"), argument.child("name").text(), argument.child("value"));
      } else if (argument.is("dictionary_splat") && argument.children().size() > 0) {
        read_pairs(argument.children().back(), section);
      } else if (argument.is("attribute") && copied.empty()) {
        copied = section_of(argument.child("attribute").text());
      }
    }
    std::string name = section_of(call.child("function").text());
    if (name.empty()) name = copied;
    if (name.empty()) name = receiver(call);
    keep(std::move(section), name, call.line());
  }

  void read_pairs(const Code& dictionary, Node& section) {
    for (const Code& pair : dictionary.children()) {
      const Code key = pair.child("key");
      if (pair.is("pair") && key.is("string")) add(section, key, unquoted(key.text()), pair.child("value"));
    }
  }

  void read_dictionary(const Code& dictionary) {
    const std::string name = receiver(dictionary);
    if (name.empty()) return;
    Node section;
    read_pairs(dictionary, section);
    keep(std::move(section), name, dictionary.line());
  }

  void read_assignment(const Code& assignment) {
    const Code left = assignment.child("left"), right = assignment.child("right");
    Node section;
    if (left.is("attribute") && right) {  // config.parallelism.tensor_parallel_degree = 2
      const Code object = left.child("object");
      const std::string_view holder = object.is("attribute") ? object.child("attribute").text() : object.text();
      add(section, assignment, left.child("attribute").text(), right);
      keep(std::move(section), section_of(holder), assignment.line());
    } else if (left.is("identifier") && right) {  // class Mine(ParallelismConfig): tensor_parallel_degree: int = 2
      const Code owner = assignment.parent().parent().parent();
      if (!owner.is("class_definition")) return;
      std::string name = section_of(owner.child("name").text());
      for (const Code& base : owner.child("superclasses").children()) {
        if (name.empty()) name = section_of(base.text());
      }
      add(section, left, left.text(), right);
      keep(std::move(section), name, assignment.line());
    }
  }

  const Syntax& syntax_;
  Node root_;
  std::map<std::string_view, Code> constants_;
  std::size_t settings_ = 0;
};

}  // namespace

Document read_titan_python(std::string_view text) {
  Document out;
  const auto syntax = Syntax::parse(std::string(text));
  out.root = Reader(*syntax).run();
  return out;
}

}  // namespace fx::knowledge
