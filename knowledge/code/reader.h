// Reads files into functions, classes and imports, before anything is executed.
#pragma once

#include "knowledge/code/program.h"

namespace fx::knowledge::code {

class Reader {
 public:
  explicit Reader(Program& program) : program_(program) {}
  // Files and everything in them; then base classes and scope.
  void read(std::vector<InputFile> files);
  // An expression of names and dots as it is resolved through the file's imports: "dist.barrier" ->
  // "torch.distributed.barrier".
  std::string_view resolve(const SourceFile& file, Node expression) const;

 private:
  void walk(SourceFile& file);
  void add_import(SourceFile& file, Node statement);
  void add_from_import(SourceFile& file, Node statement);
  void bind(SourceFile& file, Node node, std::string_view name, const std::string& target);
  Function& add_function(SourceFile& file, Node node, const Class* owner);
  void count_bindings(Function& function);
  void link_classes();
  void note_calls(const SourceFile& file);
  void find_scope();

  Program& program_;
};

}  // namespace fx::knowledge::code
