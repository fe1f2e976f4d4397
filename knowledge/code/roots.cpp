#include <algorithm>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"
#include "knowledge/code/reader.h"

namespace fx::knowledge::code {
namespace {

// Of one request, and of one root: enough for the largest real scripts, little enough to end in time.
constexpr std::size_t kMaxSteps = 500'000;
constexpr std::size_t kMaxRootSteps = 150'000;
constexpr std::size_t kMaxAllEvents = 120'000;

bool has_main_guard(const SourceFile& file) {
  const Node root = file.syntax->root();
  for (const Node node : root.children()) {
    if (node.is("if_statement") && contains(node.child("condition").text(), "__name__")) return true;
  }
  return false;
}

// A statement that does more than define: a call whose result or effect matters, also inside `if` and `try`.
bool acts(Node block, int depth = 0) {
  for (const Node node : block.children()) {
    if (node.is("for_statement") || node.is("while_statement") || node.is("with_statement")) return true;
    if (node.is("expression_statement") && node.first_child().is("call")) return true;
    const bool branches = node.is("if_statement") || node.is("try_statement") || node.is("else_clause") ||
                          node.is("finally_clause") || node.is("block");
    if (branches && depth < 8 && acts(node, depth + 1)) return true;
  }
  return false;
}

// fit(...), train(...) or main() at module level.
bool is_training_call(const Event& event) {
  if ((!event.is(EventKind::kCall) && !event.is(EventKind::kEnter)) || event.callee.starts_with("torch.") ||
      event.frame == nullptr || event.frame->function != nullptr)
    return false;
  const std::string_view name = last_part(event.callee);
  for (const std::string_view word : {"train", "fit", "main", "run"}) {
    if (contains_ignoring_case(name, word)) return true;
  }
  return false;
}

// Leaves nothing behind that a function might change: no model, no group, no loop that was left.
bool only_defines(const Event& event) {
  const bool returns = event.is(EventKind::kJump) && event.frame != nullptr && event.frame->function != nullptr &&
                       (event.callee == "return" || event.callee == "raise");
  return returns || event.is(EventKind::kCall) || event.is(EventKind::kEnter) || event.is(EventKind::kLoop) ||
         event.is(EventKind::kOperator) || event.is(EventKind::kSetItem) || event.is(EventKind::kSetAttribute);
}

}  // namespace

Interpreter::Interpreter(Program& program, const Reader& reader) : Recorder(program), reader_(reader) {}

void Interpreter::run() {
  for (const auto& file : program_.files_) {
    if (!has_main_guard(*file) && !acts(file->syntax->root())) continue;
    begin_trace(true);
    main_file_ = file.get();
    modules_.clear();
    class_objects_.clear();
    run_module(*file, true);
    file->has_entry = has_main_guard(*file);
    for (const Event& event : trace_->events) {
      const bool trains = event.is(EventKind::kBackward) || event.is(EventKind::kStep) || is_training_call(event);
      file->has_entry |= trains;
    }
    end_trace();
  }
  main_file_ = nullptr;
  modules_.clear();
  class_objects_.clear();
  for (const Function* function : roots()) {
    if (executed_.contains(function)) continue;
    if (steps_ >= kMaxSteps || events_ >= kMaxAllEvents) {
      program_.all_executed_ = false;
      break;
    }
    run_root(*function);
  }
}

// Functions that may be left over: first those that nothing calls or hands on, since they reach the rest with more
// known.
std::vector<const Function*> Interpreter::roots() {
  std::vector<const Function*> first, handed_on, called;
  for (const Function& function : program_.functions_) {
    if (function.node.is("lambda") ||
        (function.name == "__init__" && function.of_class != nullptr && function.of_class->methods.size() > 1))
      continue;
    const bool by_python = function.name == "forward" || function.name.starts_with("__");
    const bool is_called =
        by_python || program_.called_.contains(function.name) || program_.called_.contains(method_name(function.name));
    (is_called ? called : program_.hands_on(function.name) ? handed_on : first).push_back(&function);
  }
  first.insert(first.end(), handed_on.begin(), handed_on.end());
  first.insert(first.end(), called.begin(), called.end());
  return first;
}

void Interpreter::run_module(const SourceFile& file, bool as_main) {
  if (modules_.contains(&file)) return;
  Scope& scope = scopes_.emplace_back();
  scope.file = &file;
  modules_[&file] = &scope;
  Scope* const outer = scope_;
  const SourceFile* const before = file_;
  const Guard* const guard = guard_;
  const Context* const context = context_;
  const Loop* const loop = loop_;
  const int pass = pass_;
  if (!as_main) guard_ = nullptr;
  context_ = nullptr;
  loop_ = nullptr;
  pass_ = 1;
  scope_ = &scope;
  file_ = &file;
  block(file.syntax->root());
  scope_ = outer;
  file_ = before;
  guard_ = guard;
  context_ = context;
  loop_ = loop;
  pass_ = pass;
}

Trace& Interpreter::begin_trace(bool from_entry) {
  trace_ = &program_.traces_.emplace_back();
  trace_->from_entry = from_entry;
  root_limit_ = std::min(kMaxSteps, steps_ + kMaxRootSteps);
  guard_ = nullptr;
  loop_ = nullptr;
  context_ = nullptr;
  frame_ = &program_.frames_.emplace_back();
  pass_ = 1;
  depth_ = 0;
  stack_.clear();
  yields_.clear();
  raises_.clear();
  return_jumps_.clear();
  loop_breaks_.clear();
  turn_continues_.clear();
  return *trace_;
}

// What was raised and never caught ends the process; an empty trace tells nothing.
void Interpreter::end_trace() {
  land(raises_);
  raises_.clear();
  events_ += trace_->events.size();
  for (Event& event : trace_->events) {
    // What was called turned out to be a model only later.
    if (event.is(EventKind::kCall) && event.callee == "()" && event.subject != nullptr &&
        event.subject->type == Type::kModel)
      event.kind = EventKind::kForward;
    trace_->kinds |= std::uint64_t{1} << static_cast<unsigned>(event.kind);
    if (event.is(EventKind::kShard) || event.is(EventKind::kDdp)) trace_->wraps.push_back(event.index);
  }
  if (trace_->events.empty()) program_.traces_.pop_back();
  trace_ = nullptr;
}

void Interpreter::load_modules() {
  if (library_) {
    trace_->events = library_->events;
    raises_ = library_->raises;
    frame_ = library_->frame;
    return;
  }
  modules_.clear();
  class_objects_.clear();
  for (const auto& file : program_.files_) run_module(*file, false);
  if (std::ranges::all_of(trace_->events, only_defines)) library_ = {trace_->events, raises_, frame_};
}

// A function alone; a method after its class's constructor.
void Interpreter::run_root(const Function& function) {
  // Nested functions run with their surroundings or not at all.
  for (Node at = function.node.parent(); at; at = at.parent()) {
    if (at.is("function_definition")) return;
  }
  begin_trace(false);
  load_modules();
  file_ = function.file;
  scope_ = modules_[function.file];
  Object* self = function.of_class == nullptr ? nullptr : instance_of(*function.of_class);
  // A recipe is set up before anything else is called.
  const Function* setup = self == nullptr || self->type != Type::kInstance ? nullptr : self->of_class->method("setup");
  if (setup != nullptr && setup != &function)
    invoke(*setup, self, modules_[setup->file], unknown_arguments(), self->of_class->node);
  if (executed_.contains(&function)) return end_trace();  // by the constructor or the setup
  Arguments& given = unknown_arguments();
  Object* plain = make(Type::kFunction, function.node);
  plain->function = &function;
  plain->scope = scope_;
  Object* result = nullptr;
  if (Object* called = decorated(plain); called != plain) {
    if (self != nullptr) given.list.insert(given.list.begin(), Argument{"", self, function.node});
    result = call_object(called, given, function.node);
  } else {
    result = invoke(function, self, scope_, given, function.node);
  }
  if (main_of(result)->type == Type::kGenerator) run_body(function, self, scope_, given, function.node);
  end_trace();
}

// Of a caller that was not sent.
Arguments& Interpreter::unknown_arguments() {
  Arguments& given = arguments_of();
  given.list.push_back({"**", unknown({}), {}});
  return given;
}

Object* Interpreter::instance_of(const Class& owner) {
  Object* object = make(owner.is_module                                 ? Type::kModel
                        : owner.is_iterable_dataset || owner.is_dataset ? Type::kDataset
                                                                        : Type::kInstance,
                        owner.node);
  object->of_class = &owner;
  object->callee = owner.name;
  construct(object, owner, unknown_arguments(), owner.node);
  return object;
}

Object* Interpreter::unknown_parameter(Node parameter, const Function& function) {
  // What a forward gets is a batch, unless its default tells that it is a switch.
  const bool batch = function.name == "forward" && function.of_class != nullptr && function.of_class->is_module;
  const Node usual = parameter.child("value");
  const bool is_switch = usual && !usual.is("none");
  const Node name = parameter.is("typed_parameter") ? parameter.first_child() : parameter;
  const bool named = name.text() == "batch" || name.text() == "micro_batch" || name.text() == "microbatch" ||
                     name.text() == "mini_batch" || name.text() == "minibatch";
  return unknown(parameter, (batch || named) && !is_switch ? static_cast<Taints>(kLocal) : Taints{0});
}

// What an annotation tells about a value that is not known otherwise.
Object* Interpreter::typed(Object* object, Node annotation, const SourceFile& file) {
  Object* value = main_of(object);
  Node name = annotation.is("type") ? annotation.first_child() : annotation;
  // "A | None", Optional[A]
  if (name.is("binary_operator")) name = name.child("left");
  if (name.is("generic_type") || name.is("subscript") || name.is("union_type")) return object;
  if (name.is("string")) return object;
  const std::string_view full = reader_.resolve(file, name);
  for (const Class& known : program_.classes_) {
    if (known.name != last_part(full)) continue;
    adopt(value, known, annotation);
    return object;
  }
  const std::string_view last = last_part(full);
  if (last == "FSDPModule") {
    value->type = Type::kModel;
    value->sharding = Sharding::kFsdp2;
  } else if (full == "torch.distributed.fsdp.FullyShardedDataParallel") {
    value->type = Type::kModel;
    value->sharding = Sharding::kFsdp1;
  } else if (full == "torch.nn.parallel.DistributedDataParallel") {
    value->type = Type::kModel;
    value->sharding = Sharding::kDdp;
  } else if (full.starts_with("torch.nn.") || last == "PreTrainedModel") {
    value->type = Type::kModel;
  } else if (full.starts_with("torch.optim.lr_scheduler") || last == "LRScheduler") {
    value->type = Type::kScheduler;
  } else if (full.starts_with("torch.optim.")) {
    value->type = Type::kOptimizer;
  } else if (full == "torch.utils.data.DataLoader") {
    value->type = Type::kLoader;
  } else if (last == "DeviceMesh") {
    value->type = Type::kMesh;
  } else if (full == "accelerate.Accelerator") {
    value->type = Type::kAccelerator;
  }
  return object;
}

}  // namespace fx::knowledge::code
