// Runs the functions of a program abstractly and writes traces. Internal to knowledge/code.
#pragma once

#include <functional>
#include <unordered_set>

#include "knowledge/code/recorder.h"
#include "knowledge/code/scope.h"

namespace fx::knowledge::code {

class Interpreter : public Recorder {
 public:
  explicit Interpreter(Program& program, const class Reader& reader);
  void run();

  // For what calls of things from outside do (library/).
  Object* call_object(Object* callee, Arguments& given, Node node);
  Object* attribute(Object* object, std::string_view name, Node node);
  void set_attribute(Object* object, std::string_view name, Object* value, Node node);
  Object* element_of(Object* iterable, Node node);  // what one turn of a loop gets
  // Runs turn for what the generator yields.
  Flow iterate_generator(Loop& loop, Object* generator, const std::function<Flow(Object*)>& turn);
  Object* consume(Object* iterable, Node node);  // runs a generator to its end: a list; others as they are
  void enter(const Object& manager, Node node);  // its context begins, and ends with the block or function at hand
  void leave(const Object& manager);

 private:
  using Then = std::function<Flow()>;
  using Action = std::function<void()>;
  using Evaluator = Object* (Interpreter::*)(Node);
  using Executor = Flow (Interpreter::*)(Node);
  using Consumer = std::function<void(Object*)>;
  // roots.cpp: what is executed, in which order.
  void run_module(const SourceFile&file, bool as_main), run_root(const Function&function);
  std::vector<const Function*> roots();
  Object* instance_of(const Class& owner);
  Arguments& unknown_arguments();
  Trace& begin_trace(bool from_entry);
  void load_modules(), end_trace();
  Object* unknown_parameter(Node parameter, const Function& function);
  Object* typed(Object* object, Node annotation, const SourceFile& file);
  // statements.cpp
  Flow block(Node body);
  Flow statement(Node node);
  static Executor executor_of(Node node);  // nullptr: does nothing
  Flow expression_statement(Node node), for_statement(Node node), while_statement(Node node), with_statement(Node node);
  Flow try_statement(Node node), return_statement(Node node), break_statement(Node node), continue_statement(Node node);
  Flow raise_statement(Node node), evaluate_parts(Node node), left_over(Node node);
  Flow with_items(Node node, const std::vector<Node>& items, std::size_t next);
  Flow with_object(Node node, const std::vector<Node>& items, std::size_t next, Object* value, Node target);
  Flow jump(Node node, std::string_view name, Flow flow);
  void on_every_way_out(std::uint32_t from, const Action& action);  // finally, __exit__
  void land(const std::vector<std::uint32_t>& jumps);               // they skip what is up to here
  // branches.cpp
  Flow whole_if_statement(Node node), if_statement(Node node, Node alternative_of), match_statement(Node node);
  std::vector<const Guard*> ranks_left(const Guard* from) const;
  void keep_partly(const std::vector<const Guard*>& guards);
  Object* merged(Object* one, Object* other, const Guard& guard);
  Flow branches(Node test, Node statement, Object* value, const Then& then, const Then& otherwise);
  // definitions.cpp
  Flow define(Node node), import_statement(Node node), import_from_statement(Node node);
  Object* import_module(std::string_view name);
  // loops.cpp: runs turn for the items of iterable, twice; closes the loop's jumps.
  Flow run_loop(Node node, Object* iterable, Taints taints, const std::function<Flow(Object*)>& turn);
  Flow run_turns(Loop& loop, Object* iterable, const std::function<Flow(Object*)>& turn);
  Object* generator_of(Object* iterable, Node node);
  // expressions.cpp
  Object* eval(Node node);
  static Evaluator evaluator_of(Node node);  // nullptr: nothing is known of it
  Object *identifier(Node node), *attribute_expression(Node node), *number_literal(Node node);
  Object *boolean_literal(Node node), *none_literal(Node node), *lambda(Node node), *assignment(Node node);
  Object* named_expression(Node node);
  Object* first_inside(Node node);
  static bool is_unpacked(Node item);
  // operators.cpp
  Object *unary(Node node), *negation(Node node), *augmented_assignment(Node node);
  Object *binary(Node node), *comparison(Node node);
  // containers.cpp
  Object* text(Node node);
  void parts_of_text(Node node, Object& whole);
  Object *collection(Node node), *dictionary(Node node), *subscript(Node node);
  // comprehensions.cpp
  Object* comprehension(Node node);
  void comprehension_clauses(Node node, std::vector<Node> clauses, std::size_t next, const Action& inner);
  Object* yield(Node node);
  // conditions.cpp
  Object* conditional(Node node);
  std::optional<bool> decide(Node test, const Object* value) const;  // nothing: either way
  bool is_settled(Node test) const;
  // assignments.cpp
  void assign(Node target, Object* value, Node statement);
  void set_item(Object* object, Object* key, Object* value, Node node);
  // attributes.cpp
  Object* attribute_of_class(const Class& owner, Object* self, std::string_view name, Node node);
  Object *bound_method(Object*method, Node node), *with_others(const Class&owner, Object*method, Node node);
  Object *class_object(const Class&owner), *part(Object*owner, std::string_view name, Node node);
  // items.cpp
  Object* item_of(Object* object, Object* key, Node node);
  Object* element_of_sequence(Object* from, Node node);
  // decorators.cpp
  Object* decorated(Object* function);
  void decorate_class(Object* object, Node definition);
  bool of_the_files(Node decorator) const;
  const Context* decorator_contexts(const Function& function, const Context* outer);
  const Guard* decorator_guard(const Function& function);
  // functions.cpp
  Object* invoke(const Function& function, Object* self, Scope* defined_in, Arguments& given, Node node);
  Object* run_body(const Function& function, Object* self, Scope* defined_in, Arguments& given, Node node);
  Object* run_statements(const Function& function);
  void bind_parameters(const Function& function, Object* self, Arguments& given, Scope& scope);
  Object* argument_for(Node parameter, const Function& function, const Arguments& given, int position);
  // calls.cpp
  Object* call(Node node);
  Object* call_one_of(const Object& callee, Arguments& given, Node node);
  Object* call_function(Object* function, Arguments& given, Node node);
  Arguments& arguments(Node node);
  void unpack(Arguments& into, Object* value, bool by_name, Node node);
  Object* call_method(Object* method, Arguments& given, Node node);
  void adopt(Object* object, const Class& known, Node node);
  void construct(Object* object, const Class& owner, Arguments& given, Node node);
  void fill_fields(Object* object, const Class& owner, const Arguments& given, int& position);
  Object* call_class(const Class& owner, Arguments& given, Node node);
  Object* forward(Object* model, Arguments& given, Node node);

  const Reader& reader_;
  std::unordered_map<const SourceFile*, Scope*> modules_;
  std::unordered_map<const Class*, Object*> class_objects_;
  std::unordered_set<const Function*> executed_;
  Pool<Scope> scopes_;
  std::vector<std::pair<const Function*, Scope*>> stack_;
  Scope* scope_ = nullptr;
  const SourceFile* main_file_ = nullptr;
  struct Library {
    std::vector<Event> events;
    std::vector<std::uint32_t> raises;
    const Frame* frame;
  };
  std::optional<Library> library_;  // the module level, if all it does is define
  int depth_ = 0;
  bool picked_by_rank_ = false;    // a filter of the comprehension at hand asks for the rank
  std::size_t events_ = 0;         // of all traces that are done
  std::vector<Object*> returned_;  // by the function that runs
  std::vector<std::uint32_t> return_jumps_, loop_breaks_, turn_continues_, raises_;
  std::vector<const Class*> fields_of_, adopting_;  // whose fields are filled, whose instances get attributes
  std::vector<std::pair<const Function*, Consumer*>> yields_;  // generators that run, innermost last
};

}  // namespace fx::knowledge::code
