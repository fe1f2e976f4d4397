#include "knowledge/code/program.h"

#include <algorithm>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"
#include "knowledge/code/reader.h"

namespace fx::knowledge::code {

std::optional<long long> ReviewContext::world_size() const {
  if (!nodes && !gpus_per_node) return std::nullopt;
  return nodes.value_or(1) * gpus_per_node.value_or(1);
}

bool ReviewContext::torch_below(int major, int minor) const {
  const auto parts = split(torch_version, '.');
  const auto have_major = parts.empty() ? std::nullopt : to_integer(parts[0]);
  if (!have_major) return true;
  const auto have_minor = parts.size() < 2 ? std::nullopt : to_integer(parts[1]);
  return *have_major < major || (*have_major == major && have_minor.value_or(0) < minor);
}

const Function* Class::method(std::string_view wanted) const {
  std::vector<const Class*> open = {this};
  for (int i = 0; !open.empty() && i < 32; ++i) {
    const Class* at = open.front();
    open.erase(open.begin());
    for (const Function* method : at->methods) {
      if (method->name == wanted) return method;
    }
    open.insert(open.end(), at->base_classes.begin(), at->base_classes.end());
  }
  return nullptr;
}

std::span<const Import> SourceFile::imports_of(Node statement) const {
  const auto found = imports_at.find(statement.index());
  if (found == imports_at.end()) return {};
  return std::span(imports).subspan(found->second.first, found->second.second - found->second.first);
}

std::unique_ptr<const Program> Program::read(std::vector<InputFile> files, ReviewContext context) {
  std::unique_ptr<Program> program(new Program(std::move(context)));
  Reader reader(*program);
  reader.read(std::move(files));
  if (program->in_scope_) Interpreter(*program, reader).run();
  return program;
}

std::string_view Program::intern(std::string_view text) {
  if (const auto known = names_.find(text); known != names_.end()) return *known;
  return *names_.emplace(text).first;
}

bool Program::imports(std::string_view module) const {
  for (const auto& file : files_) {
    for (const Import& import : file->imports) {
      if (import.target == module || (import.target.starts_with(module) && import.target[module.size()] == '.'))
        return true;
    }
  }
  return false;
}

bool Program::may_call(std::string_view callee) const {
  const std::string_view name = last_part(callee);
  return calls(callee) || hands_on(name) || quoted_.contains(name) ||
         std::ranges::any_of(files_, [](const auto& file) { return file->cut_off; });
}

bool Program::uses_accelerate() const {
  return imports("accelerate");
}

}  // namespace fx::knowledge::code
