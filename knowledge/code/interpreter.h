// Runs the functions of a program abstractly and writes traces. Internal to knowledge/code.
#pragma once

#include <functional>
#include <set>

#include "knowledge/code/program.h"
#include "knowledge/code/scope.h"

namespace fx::knowledge::code {

// How a statement or a block was left.
enum class Flow : std::uint8_t { kNormal, kBreak, kContinue, kReturn, kRaise };

class Interpreter {
 public:
  explicit Interpreter(Program& program, const class Reader& reader);
  void run();

 private:
  using Then = std::function<Flow()>;
  using Action = std::function<void()>;
  using Consumer = std::function<void(Object*)>;
  // roots.cpp: what is executed, in which order.
  void run_module(const SourceFile& file, bool as_main);
  void run_root(const Function& function);
  Object* instance_of(const Class& owner);
  Arguments& unknown_arguments();
  Trace& begin_trace(bool from_entry);
  void load_modules();
  void end_trace();
  Object* unknown_parameter(Node parameter, const Function& function);
  Object* typed(Object* object, Node annotation, const SourceFile& file);
  // statements.cpp
  Flow block(Node body);
  Flow statement(Node node);
  Flow expression_statement(Node node);
  Flow if_statement(Node node, Node alternative_of);
  Flow branches(Node test, Node statement, Object* value, const Then& then, const Then& otherwise);
  Flow for_statement(Node node);
  Flow while_statement(Node node);
  Flow with_statement(Node node);
  Flow with_items(Node node, const std::vector<Node>& items, std::size_t next);
  Flow try_statement(Node node);
  Flow match_statement(Node node);
  Flow return_statement(Node node);
  Flow jump(Node node, std::string_view name, Flow flow);
  void define(Node node);
  void import_statement(Node node);
  void import_from_statement(Node node);
  Object* import_module(std::string_view name);
  // Runs turn for the items of iterable, twice; closes the loop's jumps.
  Flow run_loop(Node node, Object* iterable, Taints taints, const std::function<Flow(Object*)>& turn);
  Flow run_turns(Loop& loop, Object* iterable, const std::function<Flow(Object*)>& turn);
  Object* generator_of(Object* iterable, Node node);
  Flow iterate_generator(Loop& loop, Object* generator, const std::function<Flow(Object*)>& turn);
  // expressions.cpp
  Object* eval(Node node);
  Object* eval_inner(Node node);
  Object* identifier(Node node);
  Object* text(Node node);
  Object* binary(Node node);
  Object* comparison(Node node);
  Object* subscript(Node node);
  Object* comprehension(Node node);
  void comprehension_clauses(Node node, std::vector<Node> clauses, std::size_t next, const Action& inner);
  Object* conditional(Node node);
  Object* collection(Node node);
  Object* dictionary(Node node);
  Object* yield(Node node);
  void assign(Node target, Object* value, Node statement);
  void set_attribute(Object* object, std::string_view name, Object* value, Node node);
  void set_item(Object* object, Object* key, Object* value, Node node);
  std::optional<bool> decide(Node test, const Object* value) const;
  bool is_settled(Node test) const;
  // attributes.cpp
  Object* attribute(Object* object, std::string_view name, Node node);
  Object* attribute_of_class(const Class& owner, Object* self, std::string_view name, Node node);
  Object* bound_method(Object* method, Node node);
  Object* class_object(const Class& owner);
  Object* item_of(Object* object, Object* key, Node node);
  Object* element_of(Object* iterable, Node node);  // what one turn of a loop gets
  Object* part(Object* owner, std::string_view name, Node node);
  // decorators.cpp
  Object* decorated(Object* function);
  bool of_the_files(Node decorator) const;
  const Context* decorator_contexts(const Function& function, const Context* outer);
  const Guard* decorator_guard(const Function& function);
  // calls.cpp
  Object* call(Node node);
  Object* call_function(Object* function, Arguments& given, Node node);
  Arguments& arguments(Node node);
  void unpack(Arguments& into, Object* value, bool by_name, Node node);
  Object* call_object(Object* callee, Arguments& given, Node node);
  Object* call_method(Object* method, Arguments& given, Node node);
  const Class* class_with_method(std::string_view name) const;
  void adopt(Object* object, const Class& known, Node node);
  Object* call_class(const Class& owner, Arguments& given, Node node);
  Object* invoke(const Function& function, Object* self, Scope* defined_in, Arguments& given, Node node);
  Object* run_body(const Function& function, Object* self, Scope* defined_in, Arguments& given, Node node);
  void bind_parameters(const Function& function, Object* self, Arguments& given, Scope& scope);
  Object* forward(Object* model, Arguments& given, Node node);
  Object* spawn(Arguments& given, Node node);
  // library.cpp and methods.cpp: what calls of things from outside do.
  Object* library_call(std::string_view name, Arguments& given, Node node);
  Object* builtin_call(std::string_view name, Arguments& given, Node node);
  Object* method_call(Object* receiver, std::string_view name, Arguments& given, Node node);
  Object* model_method(Object* model, std::string_view name, Arguments& given, Node node);
  Object* sequence_method(Object* sequence, std::string_view name, Arguments& given, Node node);
  Object* text_method(Object* object, std::string_view name, Arguments& given, Node node);
  void reduce(Object* value);
  void promote(Object* object);  // is used as a module
  Object* shard(Arguments& given, std::string_view callee, Node node);
  Object* wrap(Arguments& given, Sharding sharding, EventKind kind, std::string_view callee, Node node);
  Object* prepare(Object* accelerator, Arguments& given, Node node);
  const Object* model_in(const Object* value) const;
  // Objects and events.
  Object* make(Type type, Node node);
  Object* unknown(Node node, Taints taints = 0);
  Object* number(double value, Node node);
  Object* text_object(std::string_view value, bool constant, Node node);
  Object* external(std::string_view name, Node node);
  Object* join(Object* a, Object* b, Taints taints);
  Taints taints_of(const Arguments& given) const;
  Taints opaque_taints(std::string_view name, Taints given) const;
  Event& emit(EventKind kind, std::string_view callee, Node node, const Arguments* given, const Object* subject,
              const Object* receiver, Object* result);
  const Guard* add_guard(GuardKind kind, Node test, Node statement, bool positive, const Object* value);
  bool spent();

  Program& program_;
  const Reader& reader_;
  std::unordered_map<const SourceFile*, Scope*> modules_;
  std::unordered_map<const Class*, Object*> class_objects_;
  std::set<const Function*> executed_;
  Pool<Scope> scopes_;
  std::vector<const Function*> stack_;
  Trace* trace_ = nullptr;
  Scope* scope_ = nullptr;
  const SourceFile *file_ = nullptr, *main_file_ = nullptr;
  std::optional<std::pair<std::vector<Event>, const Frame*>> library_;  // the module level, if all it does is define
  const Guard* guard_ = nullptr;
  const Loop* loop_ = nullptr;
  const Context* context_ = nullptr;
  const Frame* frame_ = nullptr;
  int pass_ = 1, depth_ = 0;
  bool picked_by_rank_ = false;  // a filter of the comprehension at hand asks for the rank
  std::size_t steps_ = 0, root_limit_ = 0, events_ = 0;
  std::vector<Object*> returned_;  // by the function that runs
  std::vector<std::uint32_t> return_jumps_, loop_breaks_, turn_continues_, raises_;
  std::vector<std::pair<const Function*, Consumer*>> yields_;  // generators that run, innermost last
  Object* none_ = nullptr;
};

}  // namespace fx::knowledge::code
