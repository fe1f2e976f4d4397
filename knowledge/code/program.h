// The files of a request, read and executed abstractly: what rules look at.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "knowledge/code/pool.h"
#include "knowledge/code/trace.h"

namespace fx::knowledge::code {

struct InputFile {
  std::string name, text;
};

// What the caller knows beside the code.
struct ReviewContext {
  std::optional<long long> nodes, gpus_per_node;
  std::string torch_version;  // "2.7", "2.13.0"; empty: unknown
  std::optional<long long> world_size() const;
  // Unknown counts as below: what holds for older versions is said unless the version is known to be newer.
  bool torch_below(int major, int minor) const;
};

struct Import {
  std::string_view name;     // as bound in the file
  std::string_view target;   // "torch.distributed.fsdp.fully_shard", canonical
  std::string_view written;  // the same as the file spells it
  Node node;
};

struct Function {
  std::string_view name;
  const SourceFile* file = nullptr;
  Node node;                                 // function_definition or lambda
  const Class* of_class = nullptr;           // nullptr: no method
  std::vector<std::string_view> decorators;  // canonical callee names
  std::vector<Node> decorator_nodes;         // their expressions, beside
  bool is_generator = false;
  std::unordered_map<std::string_view, int> bindings;  // how often a name is bound in its body
};

struct Class {
  std::string_view name;
  const SourceFile* file = nullptr;
  Node node;
  std::vector<std::string_view> bases;     // canonical names; classes of the files by their name
  std::vector<const Class*> base_classes;  // those of the files
  std::vector<const Function*> methods;
  bool is_module = false;  // an nn.Module as far as can be seen
  bool is_iterable_dataset = false, is_dataset = false;

  const Function* method(std::string_view name) const;  // its own or inherited
};

struct SourceFile {
  std::span<const Import> imports_of(Node statement) const;

  std::string name;    // as given
  std::string module;  // "pkg.train" for pkg/train.py
  std::unique_ptr<const python::Syntax> syntax;
  std::vector<Import> imports;
  std::vector<const Function*> functions;  // all, nested and methods too
  std::vector<const Class*> classes;
  std::unordered_map<std::uint32_t, std::pair<std::size_t, std::size_t>> imports_at;  // by its statement: [first, end)
  std::unordered_map<std::uint32_t, const Function*> function_at;                     // by the index of its node
  std::unordered_map<std::uint32_t, const Class*> class_at;
  std::unordered_map<std::string_view, std::string_view> bound;  // imported names -> canonical targets
  bool cut_off = false;    // ends inside of a bracket, string or block: the rest was not sent
  bool has_entry = false;  // a `__main__` guard, or a call at module level that leads to training
};

// Looks texts up by what they say, without making strings of them.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

class Program {
 public:
  // Never fails. Time and memory are bounded for any text.
  static std::unique_ptr<const Program> read(std::vector<InputFile> files, ReviewContext context);

  const ReviewContext& context() const { return context_; }
  const std::vector<std::unique_ptr<SourceFile>>& files() const { return files_; }
  const std::deque<Function>& functions() const { return functions_; }
  const std::deque<Class>& classes() const { return classes_; }
  const std::deque<Trace>& traces() const { return traces_; }
  // Trains or checkpoints with torch.distributed, FSDP, DCP or accelerate.
  bool in_scope() const { return in_scope_; }
  // Every statement that some execution reaches was executed: no bound on steps or events was met.
  bool all_executed() const { return all_executed_; }
  // Some file imports this module or something of it: "accelerate".
  bool imports(std::string_view module) const;
  // Some call in any file has this canonical callee or method name (".set_epoch"), reached or not.
  bool calls(std::string_view callee) const { return called_.contains(callee); }
  // The same, also where the end of a file is missing, or where something is handed on under that name:
  // hook = sampler.set_epoch, getattr(sampler, "set_epoch").
  bool may_call(std::string_view callee) const;
  // Some file hands on something of this name: pool.submit(work), {"train": self.fit}.
  bool hands_on(std::string_view name) const { return handed_on_.contains(name); }
  bool uses_accelerate() const;
  // The backend argument of every init_process_group seen: "nccl"; "" if left out; "?" if computed.
  const std::vector<std::string>& backends() const { return backends_; }

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

 private:
  friend class Reader;
  friend class Recorder;
  friend class Interpreter;
  explicit Program(ReviewContext context) : context_(std::move(context)) {}
  std::string_view intern(std::string_view text);

  ReviewContext context_;
  std::vector<std::unique_ptr<SourceFile>> files_;
  std::deque<Function> functions_;
  std::deque<Class> classes_;
  std::unordered_set<std::string, TextHash, std::equal_to<>> names_;
  std::unordered_set<std::string_view> called_;
  std::unordered_set<std::string_view> handed_on_, quoted_;  // values that are not called where they stand; texts
  std::vector<std::string> backends_;
  std::deque<Trace> traces_;
  std::pmr::monotonic_buffer_resource memory_;  // of the lists in objects and arguments: many small ones, gone together
  Pool<Object> objects_;
  Pool<Arguments> arguments_;
  Pool<Guard> guards_;
  Pool<Loop> loops_;
  Pool<Context> contexts_;
  Pool<Frame> frames_;
  bool in_scope_ = false, all_executed_ = true;
};

}  // namespace fx::knowledge::code
