#include "knowledge/code/reader.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/python/kind_table.h"

namespace fx::knowledge::code {
namespace {

std::string module_name(std::string_view file) {
  while (file.substr(0, 2) == "./") file.remove_prefix(2);
  if (file.size() > 3 && file.substr(file.size() - 3) == ".py") file.remove_suffix(3);
  std::string name = replace_all(std::string(file), "/", ".");
  if (constexpr std::string_view kInit = ".__init__"; name.size() > kInit.size() && name.ends_with(kInit))
    name.resize(name.size() - kInit.size());
  return name;
}

// "..pkg.mod" relative to a.b.c -> "a.pkg.mod".
std::string absolute_module(std::string_view written, const std::string& here) {
  std::size_t dots = 0;
  while (dots < written.size() && written[dots] == '.') ++dots;
  if (dots == 0) return std::string(written);
  std::string base = here;
  for (std::size_t i = 0; i < dots; ++i) {
    const auto cut = base.rfind('.');
    base = cut == std::string::npos ? "" : base.substr(0, cut);
  }
  const std::string rest(written.substr(dots));
  if (base.empty()) return rest;
  return rest.empty() ? base : base + "." + rest;
}

// A line with a word in its first column, or with one in front that no expression begins with.
bool begins_a_statement(std::string_view line) {
  static constexpr std::array<std::string_view, 13> kWords = {"return", "def",    "class", "with",     "raise",
                                                              "import", "assert", "while", "continue", "break",
                                                              "pass",   "try:",   "del"};
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == 0) return std::isalpha(static_cast<unsigned char>(line[0])) != 0;
  if (start == std::string_view::npos) return false;
  const std::string_view rest = line.substr(start);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
  return std::ranges::find(kWords, word) != kWords.end();
}

// The text stops within a bracket or a string of several lines, or behind the colon of a block.
bool ends_open(std::string_view text) {
  int depth = 0;
  std::string_view quote;
  char last = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!quote.empty()) {
      if (c == '\\') {
        ++i;
      } else if (text.substr(i, quote.size()) == quote) {
        i += quote.size() - 1;
        quote = {};
      } else if (c == '\n' && quote.size() == 1) {
        quote = {};
      }
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
      continue;
    }
    if (c == '"' || c == '\'') {
      const std::string_view triple = text.substr(i, 3);
      quote = triple == "\"\"\"" || triple == "\'\'\'" ? triple : text.substr(i, 1);
      i += quote.size() - 1;
    }
    // Where a statement begins, a bracket before it was a slip, not the end.
    if (i > 0 && text[i - 1] == '\n' && begins_a_statement(text.substr(i))) depth = 0;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') last = c;
  }
  return depth > 0 || !quote.empty() || last == ':';
}

// The nearest function or class around a node; nothing at module level.
Node owner_of(Node node) {
  for (Node at = node.parent(); at && !at.is("module"); at = at.parent()) {
    if (at.is("function_definition") || at.is("class_definition") || at.is("lambda")) return at;
  }
  return {};
}

// What the reader takes note of.
enum class Part : std::uint8_t { kOther, kImport, kFromImport, kClass, kFunction, kLambda, kYield };

Part part_of(Node node) {
  static const python::KindTable<Part> table = {
      {"import_statement", Part::kImport}, {"import_from_statement", Part::kFromImport},
      {"class_definition", Part::kClass},  {"function_definition", Part::kFunction},
      {"lambda", Part::kLambda},           {"yield", Part::kYield},
  };
  return table.of(node);
}

// The name of a value that is not called where it stands, but given to someone. Empty: none.
std::string_view handed_on(Node node) {
  const bool attribute = node.is("attribute");
  if ((!attribute && !node.is("identifier")) || node.is_under("function") || node.is_under("left") ||
      node.is_under("name") || node.is_under("object"))
    return {};
  const Node taker = node.parent();
  const bool given = taker.is("argument_list") || taker.is("keyword_argument") || taker.is("assignment") ||
                     taker.is("pair") || taker.is("list") || taker.is("tuple") || taker.is("return_statement") ||
                     taker.is("conditional_expression") || taker.is("named_expression");
  if (!given) return {};
  return attribute ? node.child("attribute").text() : node.text();
}

constexpr double kMaxCpuSeconds = 5;  // of parsing, for all files of a request

constexpr std::string_view kScopeModules[] = {"torch.distributed",
                                              "accelerate",
                                              "torch.nn.parallel.DistributedDataParallel",
                                              "torch.utils.data.DistributedSampler",
                                              "torch.multiprocessing",
                                              "deepspeed",
                                              "torchtitan",
                                              "lightning.fabric",
                                              "lightning.pytorch.strategies",
                                              "pytorch_lightning.strategies"};

bool under_module(std::string_view name, std::string_view module) {
  return name == module ||
         (name.size() > module.size() && name.substr(0, module.size()) == module && name[module.size()] == '.');
}

}  // namespace

void Reader::read(std::vector<InputFile> files) {
  double seconds = kMaxCpuSeconds;
  for (InputFile& input : files) {
    auto file = std::make_unique<SourceFile>();
    file->name = std::move(input.name);
    file->module = module_name(file->name);
    file->syntax = python::Syntax::parse(std::move(input.text), std::min(seconds, python::kMaxCpuSeconds));
    seconds -= file->syntax->cpu_seconds();
    file->cut_off = file->syntax->has_errors() && ends_open(file->syntax->text());
    program_.files_.push_back(std::move(file));
  }
  for (auto& file : program_.files_) walk(*file);
  link_classes();
  for (auto& file : program_.files_) note_calls(*file);
  find_scope();
}

void Reader::walk(SourceFile& file) {
  const python::Syntax& syntax = *file.syntax;
  std::unordered_map<std::uint32_t, Class*> classes;
  std::unordered_map<std::uint32_t, Function*> functions;
  for (std::uint32_t i = 0; i < syntax.size(); ++i) {
    const Node node = syntax.at(i);
    const Part part = part_of(node);
    if (part == Part::kOther) continue;
    const std::size_t imported = file.imports.size();
    if (part == Part::kImport) add_import(file, node);
    if (part == Part::kFromImport) add_from_import(file, node);
    if (file.imports.size() > imported) file.imports_at[i] = {imported, file.imports.size()};
    if (part == Part::kClass) {
      Class& added = program_.classes_.emplace_back();
      added.name = node.child("name").text();
      added.file = &file;
      added.node = node;
      file.classes.push_back(&added);
      file.class_at[i] = &added;
      classes[i] = &added;
    }
    const bool lambda = part == Part::kLambda && !node.field().starts_with("lambda");
    if (part == Part::kFunction || (lambda && node.child("body"))) {
      const Node owner = owner_of(node);
      const auto found = owner ? classes.find(owner.index()) : classes.end();
      Function& added = add_function(file, node, found == classes.end() || lambda ? nullptr : found->second);
      functions[i] = &added;
      if (added.of_class != nullptr) found->second->methods.push_back(&added);
    }
    if (part == Part::kYield) {
      const Node owner = owner_of(node);
      if (const auto found = owner ? functions.find(owner.index()) : functions.end(); found != functions.end())
        found->second->is_generator = true;
    }
  }
}

Function& Reader::add_function(SourceFile& file, Node node, const Class* owner) {
  Function& added = program_.functions_.emplace_back();
  added.name = node.is("lambda") ? std::string_view("<lambda>") : node.child("name").text();
  added.file = &file;
  added.node = node;
  added.of_class = owner;
  if (const Node around = node.parent(); around.is("decorated_definition")) {
    for (const Node decorator : around.children()) {
      if (!decorator.is("decorator")) continue;
      Node name = decorator.first_child();
      added.decorator_nodes.push_back(name);
      if (name.is("call")) name = name.child("function");
      added.decorators.push_back(resolve(file, name));
    }
  }
  count_bindings(added);
  file.functions.push_back(&added);
  file.function_at[node.index()] = &added;
  return added;
}

void Reader::count_bindings(Function& function) {
  std::vector<Node> open = {function.node};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    for (Node child = node.first_child(); child; child = child.next_sibling()) {
      const bool target =
          child.is_under("left") || child.is_under("alias") || (child.is_under("name") && node.is("named_expression"));
      if (target && child.is("identifier")) {
        // Loops and additions bind again and again.
        function.bindings[child.text()] += node.is("assignment") || node.is("named_expression") ? 1 : 2;
      } else if (target) {
        for (Node part = child.first_child(); part; part = part.next_sibling()) {
          if (part.is("identifier")) function.bindings[part.text()] += node.is("assignment") ? 1 : 2;
        }
      }
      if (!child.is("function_definition") && !child.is("class_definition") && !child.is("lambda"))
        open.push_back(child);
    }
  }
}

void Reader::bind(SourceFile& file, Node node, std::string_view name, const std::string& target) {
  file.bound[name] = program_.intern(canonical_name(target));
  file.imports.push_back({name, program_.intern(canonical_name(target)), program_.intern(target), node});
}

void Reader::add_import(SourceFile& file, Node statement) {
  for (const Node item : statement.children("name")) {
    if (item.is("aliased_import")) {
      bind(file, item, item.child("alias").text(), std::string(item.child("name").text()));
    } else {
      // `import a.b` binds a.
      const std::string_view text = item.text();
      const std::string_view top = text.substr(0, text.find('.'));
      bind(file, item, top, std::string(top));
      if (top != text) bind(file, item, text, std::string(text));
    }
  }
}

void Reader::add_from_import(SourceFile& file, Node statement) {
  const std::string module = absolute_module(statement.child("module_name").text(), file.module);
  for (const Node item : statement.children("name")) {
    const Node name = item.is("aliased_import") ? item.child("name") : item;
    const Node alias = item.is("aliased_import") ? item.child("alias") : item;
    bind(file, item, alias.text(), module.empty() ? std::string(name.text()) : module + "." + std::string(name.text()));
  }
}

std::string_view Reader::resolve(const SourceFile& file, Node expression) const {
  std::string rest;
  Node at = expression;
  while (at.is("attribute")) {
    rest = "." + std::string(at.child("attribute").text()) + rest;
    at = at.child("object");
  }
  if (at.is("list_splat")) at = at.first_child();  // [*rows(x)]: the grammar takes it for a call of *rows
  if (!at.is("identifier")) return program_.intern(rest.empty() ? std::string() : rest.substr(rest.rfind('.')));
  std::string name(at.text());
  if (const auto found = file.bound.find(at.text()); found != file.bound.end()) name = std::string(found->second);
  return program_.intern(canonical_name(name + rest));
}

void Reader::link_classes() {
  std::unordered_map<std::string_view, std::vector<const Class*>> by_name;
  for (const Class& known : program_.classes_) by_name[known.name].push_back(&known);
  for (Class& added : program_.classes_) {
    for (const Node base : added.node.child("superclasses").children()) {
      if (!base.is("identifier") && !base.is("attribute")) continue;
      const std::string_view name = resolve(*added.file, base);
      added.bases.push_back(name);
      constexpr std::size_t kMaxSame = 16;
      const auto& same = by_name[last_part(name)];
      for (std::size_t i = 0; i < same.size() && i < kMaxSame; ++i) {
        const Class& other = *same[i];
        if (&other == &added) continue;
        const bool imported = name.find('.') != std::string_view::npos;
        if (imported ? under_module(name, other.file->module) : other.file == added.file)
          added.base_classes.push_back(&other);
      }
    }
  }
  // As often as the deepest chain of bases that is worth following.
  for (int round = 0; round < 8; ++round) {
    for (Class& added : program_.classes_) {
      for (const std::string_view base : added.bases) {
        const std::string_view last = last_part(base);
        added.is_module |= under_module(base, "torch.nn") || last == "PreTrainedModel" || last == "GenerationMixin";
        added.is_iterable_dataset |= last == "IterableDataset";
        added.is_dataset |= last == "Dataset";
      }
      for (const Class* base : added.base_classes) {
        added.is_module |= base->is_module;
        added.is_iterable_dataset |= base->is_iterable_dataset;
        added.is_dataset |= base->is_dataset;
      }
    }
  }
}

void Reader::note_calls(const SourceFile& file) {
  for (std::uint32_t i = 0; i < file.syntax->size(); ++i) {
    const Node node = file.syntax->at(i);
    if (!node.is("call")) {
      if (node.is("string_content")) program_.quoted_.insert(node.text());
      if (const std::string_view name = handed_on(node); !name.empty()) program_.handed_on_.insert(name);
      continue;
    }
    const Node callee = node.child("function");
    const std::string_view name = resolve(file, callee);
    program_.called_.insert(name);
    if (!callee.is("attribute")) program_.called_.insert(last_part(name));  // of another file
    if (callee.is("attribute"))
      program_.called_.insert(program_.intern("." + std::string(callee.child("attribute").text())));
  }
}

void Reader::find_scope() {
  for (const auto& file : program_.files_) {
    for (const Import& import : file->imports) {
      for (const std::string_view module : kScopeModules) program_.in_scope_ |= under_module(import.target, module);
    }
  }
  for (const std::string_view name : program_.called_) program_.in_scope_ |= under_module(name, "torch.distributed");
}

}  // namespace fx::knowledge::code
