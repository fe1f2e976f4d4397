#include "knowledge/edit/change.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "knowledge/edit/cursor.h"
#include "knowledge/edit/locate.h"

namespace fx::knowledge {
namespace {

using Kind = Change::Kind;
using Form = Entry::Form;

bool is_word(Form form) {
  return form == Form::kFlag || form == Form::kOverride || form == Form::kAssignment || form == Form::kDirective;
}

struct Value {
  std::string text;
  bool raw = false;  // already in the syntax of this text

  std::string as(Form form) const { return raw ? text : render(text, form, ""); }
};

class Writer {
 public:
  explicit Writer(const Input& input) : input_(input), text_(input.text), map_(input.text) {}

  bool write(const Change& change) {
    if (change.kind == Kind::kReplace) return add(change.span, change.value);
    if (change.kind == Kind::kPut) return put(change);
    if (change.kind == Kind::kInside) return inside(change.at, change.key, {change.value});
    const auto entry = locate(input_, map_, change.at);
    if (!entry) return false;
    switch (change.kind) {
      case Kind::kRename:
        return rename(*entry, change.key);
      case Kind::kSet:
        return set(*entry, change.value);
      case Kind::kRemove:
        return remove(*entry);
      case Kind::kBeside:
        return beside(*entry, change.key, {change.value});
      case Kind::kMove:
        return move(*entry, change);
      case Kind::kLift:
        return lift(*entry, change.to);
      default:
        return false;
    }
  }
  Splices take() { return std::move(splices_); }

 private:
  bool add(Span span, std::string text) {
    if (text_.substr(span.begin, span.end - span.begin) == text) return false;
    splices_.push_back({span, std::move(text)});
    return true;
  }

  // A variable that the script names again (reads, exports, unsets) must stay as it is.
  bool is_named_again(const Entry& entry) const {
    if (entry.form != Form::kAssignment) return false;
    const auto name = text_.substr(entry.key.begin, entry.key.end - entry.key.begin);
    const auto is_part = [&](std::size_t i) {
      return i < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[i])) != 0 || text_[i] == '_');
    };
    for (auto at = text_.find(name); at != std::string_view::npos; at = text_.find(name, at + 1)) {
      if (at != entry.key.begin && !is_part(at + name.size()) && (at == 0 || !is_part(at - 1))) return true;
    }
    return false;
  }

  bool remove(const Entry& entry) { return entry.removable && !is_named_again(entry) && add(entry.whole, ""); }

  bool rename(const Entry& entry, std::string name) {
    if (is_named_again(entry)) return false;
    const auto old = text_.substr(entry.key.begin, entry.key.end - entry.key.begin);
    // A flag keeps the dashes or underscores it was written with.
    if (entry.form == Form::kFlag && contains(old, "-") && !contains(old, "_")) name = replace_all(name, "_", "-");
    return add(entry.key, name);
  }

  bool set(const Entry& entry, const std::string& value) {
    if (!entry.settable) return false;
    const auto old = text_.substr(entry.value.begin, entry.value.end - entry.value.begin);
    // A value that is computed elsewhere is only replaced by another such value.
    if (is_word(entry.form) && contains(old, "$") && !contains(value, "$")) return false;
    return add(entry.value, entry.lead + render(value, entry.form, old));
  }

  std::string member(const Entry& entry, const std::string& key, const std::string& value) const {
    switch (entry.form) {
      case Form::kYamlBlock:
      case Form::kYamlFlow:
        return key + ": " + value;
      case Form::kJson:
        return "\"" + key + "\": " + value;
      case Form::kTomlLine:
      case Form::kTomlInline:
      case Form::kTomlTable:
        return key + " = " + value;
      case Form::kFlag:
        return "--" + key + (value.empty() ? "" : " " + value);
      default:
        return key + "=" + value;
    }
  }

  // A line of its own behind `at`, which is the start of a line or the end of the text.
  bool new_line(std::size_t at, const std::string& line) {
    const std::string end(map_.line_end());
    const bool open = at == text_.size() && !text_.empty() && text_.back() != '\n';
    return add({at, at}, open ? end + line : line + end);
  }

  bool beside(const Entry& entry, const std::string& key, const Value& value) {
    const std::string text = member(entry, key, value.as(entry.form));
    const std::string end(map_.line_end());
    switch (entry.form) {
      case Form::kYamlBlock:
      case Form::kTomlLine:
      case Form::kTomlTable:
      case Form::kAssignment:
        if (!entry.starts_line) return add({entry.value.end, entry.value.end}, " " + text);
        return new_line(entry.whole.end, entry.indent + text);
      case Form::kJson:
      case Form::kKeyword:
        return add({entry.value.end, entry.value.end},
                   entry.starts_line ? "," + end + entry.indent + text : ", " + text);
      case Form::kYamlFlow:
      case Form::kTomlInline:
        return add({entry.value.end, entry.value.end}, ", " + text);
      case Form::kFlag:
      case Form::kOverride:
        return add({entry.value.end, entry.value.end}, " " + text);
      case Form::kDirective:
        return new_line(entry.whole.end, "#SBATCH " + key + "=" + value.text);
    }
    return false;
  }

  // The last child that is written below the mapping itself, not merged in from elsewhere.
  const Node* last_child(const Node& map) const {
    const Node* last = nullptr;
    for (const Node& child : map.children) {
      if (child.line < map.line) continue;
      if (input_.syntax == "toml" && child.is_map() && child.shown != map.shown + "." + child.name) continue;
      if (last == nullptr || child.line > last->line || (child.line == last->line && child.column > last->column))
        last = &child;
    }
    return last;
  }

  bool inside(const Place& at, const std::string& key, const Value& value) {
    const Node* map = at.shown.empty() ? &input_.root() : node_at(input_, at);
    return map != nullptr && inside_node(*map, key, value);
  }

  bool inside_node(const Node& map, const std::string& key, const Value& value) {
    if (input_.syntax == "toml") return inside_table(map, key, value);
    if (const Node* last = last_child(map)) {
      const auto entry = locate(input_, map_, place_of(*last));
      return entry && beside(*entry, key, value);
    }
    const auto entry = locate(input_, map_, place_of(map));
    if (!entry || !entry->settable) return false;
    if (entry->form == Form::kJson) return add(entry->value, "{" + member(*entry, key, value.as(entry->form)) + "}");
    if (entry->form != Form::kYamlBlock) return false;
    const std::string line = std::string(map_.line_end()) + entry->indent + "  " + key + ": ";
    return add(entry->value, line + value.as(entry->form));
  }

  // Plain keys of a table stand in front of its subtables.
  bool inside_table(const Node& table, const std::string& key, const Value& value) {
    const Node* last = nullptr;
    for (const Node& child : table.children) {
      if (!child.is_map() && (last == nullptr || child.line > last->line)) last = &child;
    }
    auto entry = locate(input_, map_, place_of(last != nullptr ? *last : table));
    return entry && beside(*entry, key, value);
  }

  // parent: {key: value} where no parent is.
  bool new_parent(const std::string& parent, const std::string& key, const Value& value) {
    const std::string end(map_.line_end());
    if (input_.syntax == "toml") {
      const std::string line = key + " = " + value.as(Form::kTomlLine);
      return new_line(text_.size(), end + "[" + parent + "]" + end + line);
    }
    if (contains(parent, ".")) return false;
    if (input_.syntax == "json")
      return inside_node(input_.root(), parent, {"{\"" + key + "\": " + value.as(Form::kJson) + "}", true});
    if (input_.syntax != "yaml") return false;
    return new_line(text_.size(), parent + ":" + end + "  " + key + ": " + value.as(Form::kYamlBlock));
  }

  bool put(const Change& change) {
    if (input_.syntax == "shell") return put_word(change);
    if (input_.syntax == "python") {
      const auto entry = locate(input_, map_, change.at);
      return entry && beside(*entry, last_part(change.key), {change.value});
    }
    if (const Node* node = input_.root().at(change.key)) {
      const auto entry = locate(input_, map_, place_of(*node));
      return entry && set(*entry, change.value);
    }
    return add_path(change.key, {change.value});
  }

  bool add_path(const std::string& path, const Value& value) {
    const std::string parent = parent_part(path);
    const Node* map = parent.empty() ? &input_.root() : input_.root().at(parent);
    if (map == nullptr) return new_parent(parent, last_part(path), value);
    return (map->is_map() || map->is_null()) && inside_node(*map, last_part(path), value);
  }

  bool put_word(const Change& change) {
    const auto neighbour = locate(input_, map_, change.at);
    if (!neighbour) return false;
    const bool flag = neighbour->form == Form::kFlag;
    for (const Launch& launch : input_.launches) {
      for (const Node* flags : {&launch.flags, &launch.arguments}) {
        const Node* old = flag ? flags->find(flag_key(change.key)) : nullptr;
        if (old == nullptr) continue;
        const auto entry = locate(input_, map_, place_of(*old));
        return entry && set(*entry, change.value);
      }
    }
    for (const Assignment& old : input_.script.assignments) {
      if (flag || old.name != change.key) continue;
      const auto entry = locate(input_, map_, place_of(old));
      return entry && set(*entry, change.value);
    }
    return beside(*neighbour, change.key, {change.value});
  }

  bool lift(const Entry& entry, const Place& to) {
    const auto at = map_.offset(to.line, to.column);
    if (!at || !entry.removable) return false;
    if (entry.form == Form::kDirective)
      return add(entry.whole, "") &&
             add({*at, *at}, std::string(text_.substr(entry.whole.begin, entry.whole.end - entry.whole.begin)));
    const std::size_t begin = text_.rfind("--", entry.key.begin);
    if (entry.form != Form::kFlag || begin == std::string_view::npos) return false;
    const std::string words(text_.substr(begin, entry.value.end - begin));
    return !contains(words, "\n") && add(entry.whole, "") && add({*at, *at}, words + " ");
  }

  bool move(const Entry& entry, const Change& change) {
    const std::string raw(text_.substr(entry.value.begin, entry.value.end - entry.value.begin));
    if (!entry.removable || !entry.settable || !entry.lead.empty() || contains(raw, "\n") || raw.empty()) return false;
    if (input_.root().at(change.key) != nullptr) return false;
    return add(entry.whole, "") && add_path(change.key, {raw, true});
  }

  const Input& input_;
  std::string_view text_;
  TextMap map_;
  Splices splices_;
};

}  // namespace

std::optional<Splices> splices_of(const Input& input, const Changes& changes) {
  Writer writer(input);
  for (const Change& change : changes) {
    if (!writer.write(change)) return std::nullopt;
  }
  Splices splices = writer.take();
  for (std::size_t i = 0; i < splices.size(); ++i) {
    for (std::size_t j = i + 1; j < splices.size(); ++j) {
      if (overlap({splices[i]}, {splices[j]})) return std::nullopt;
    }
  }
  return splices.empty() ? std::nullopt : std::optional<Splices>(std::move(splices));
}

std::vector<std::string> touched(const Changes& changes) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty()) names.push_back(name);
  };
  for (const Change& change : changes) {
    add(change.at.shown);
    add(change.key);
    // Words of a command line are known by their text alone.
    if (change.kind == Kind::kLift) add(change.to.shown);
    if (change.kind == Kind::kReplace) add(change.value);
  }
  return names;
}

}  // namespace fx::knowledge
