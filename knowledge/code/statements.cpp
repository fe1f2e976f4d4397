#include <algorithm>

#include "knowledge/code/interpreter.h"
#include "knowledge/code/keep.h"
#include "knowledge/code/reader.h"
#include "knowledge/python/kind_table.h"

namespace fx::knowledge::code {
namespace {

bool is_exit(std::string_view callee) {
  return callee == "sys.exit" || callee == "exit" || callee == "quit" || callee == "os._exit" || callee == "os.abort";
}

// Asked of every statement that is a call: only a name that can mean an exit is worth resolving.
bool may_exit(const SourceFile& file, Node callee) {
  const std::string_view name = callee.is("attribute") ? callee.child("attribute").text() : callee.text();
  return name == "exit" || name == "quit" || name == "_exit" || name == "abort" ||
         (callee.is("identifier") && file.bound.contains(name));
}

}  // namespace

Flow Interpreter::block(Node body) {
  for (Node node = body.first_child(); node; node = node.next_sibling()) {
    if (spent()) return Flow::kNormal;
    if (const Flow flow = statement(node); flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Interpreter::Executor Interpreter::executor_of(Node node) {
  using I = Interpreter;
  static const python::KindTable<Executor> table = {
      {"expression_statement", &I::expression_statement},
      {"if_statement", &I::whole_if_statement},
      {"for_statement", &I::for_statement},
      {"while_statement", &I::while_statement},
      {"with_statement", &I::with_statement},
      {"try_statement", &I::try_statement},
      {"match_statement", &I::match_statement},
      {"return_statement", &I::return_statement},
      {"break_statement", &I::break_statement},
      {"continue_statement", &I::continue_statement},
      {"raise_statement", &I::raise_statement},
      {"function_definition", &I::define},
      {"class_definition", &I::define},
      {"decorated_definition", &I::define},
      {"import_statement", &I::import_statement},
      {"import_from_statement", &I::import_from_statement},
      {"ERROR", &I::block},
      {"block", &I::block},
      {"module", &I::block},
      {"assert_statement", &I::evaluate_parts},
      {"delete_statement", &I::evaluate_parts},
      {"print_statement", &I::evaluate_parts},
      {"call", &I::left_over},
      {"assignment", &I::left_over},
  };
  return table.of(node);
}

Flow Interpreter::statement(Node node) {
  const Executor execute = executor_of(node);
  return execute == nullptr ? Flow::kNormal : (this->*execute)(node);
}

Flow Interpreter::evaluate_parts(Node node) {
  for (Node child = node.first_child(); child; child = child.next_sibling()) eval(child);
  return Flow::kNormal;
}

// An expression around a syntax error.
Flow Interpreter::left_over(Node node) {
  eval(node);
  return Flow::kNormal;
}

Flow Interpreter::expression_statement(Node node) {
  Flow flow = Flow::kNormal;
  for (Node child = node.first_child(); child; child = child.next_sibling()) {
    eval(child);
    if (!child.is("call")) continue;
    const Node callee = child.child("function");
    if (may_exit(*file_, callee) && is_exit(reader_.resolve(*file_, callee))) flow = jump(child, "exit", Flow::kRaise);
  }
  return flow;
}

Flow Interpreter::for_statement(Node node) {
  Object* iterable = eval(node.child("right"));
  const Flow flow = run_loop(node, iterable, 0, [&](Object* item) {
    assign(node.child("left"), item, node);
    return block(node.child("body"));
  });
  if (const Node after = node.child("alternative")) block(after.child("body"));
  return flow;
}

Flow Interpreter::while_statement(Node node) {
  const Node test = node.child("condition");
  Object* value = eval(test);
  const auto known = decide(test, value);
  if (known && !*known) return Flow::kNormal;
  const Guard* const outer = guard_;
  Taints taints = known ? static_cast<Taints>(kEndless) : value->taints;
  const Flow flow = run_loop(node, nullptr, taints, [&](Object*) {
    if (pass_ > 1) value = eval(test);
    if (!known) guard_ = add_guard(GuardKind::kWhile, test, node, true, value);
    return block(node.child("body"));
  });
  guard_ = outer;
  return flow;
}

Flow Interpreter::with_statement(Node node) {
  std::vector<Node> items;
  for (const Node child : node.children()) {
    if (child.is("with_clause")) {
      for (const Node item : child.children()) {
        if (item.is("with_item")) items.push_back(item.child("value"));
      }
    }
  }
  const Keep keep(context_);
  return with_items(node, items, 0);
}

Flow Interpreter::with_items(Node node, const std::vector<Node>& items, std::size_t next) {
  if (next == items.size()) return block(node.child("body"));
  Node item = items[next], target;
  if (item.is("as_pattern")) {
    target = item.child("alias");
    item = item.first_child();
  }
  Object* value = eval(item);
  const Object* made = main_of(value);
  Context& context = program_.contexts_.emplace_back();
  context.outer = context_;
  context.callee = made->callee;
  context.receiver = made->receiver;
  context.arguments = made->made_by;
  context.node = item;
  context.file = file_;
  if (made->type == Type::kGenerator) {  // @contextmanager of the files: what is around its yield is around this block
    Flow flow = Flow::kNormal;
    Loop loop;
    loop.node = node;
    context.callee = made->function->name;
    const std::size_t entered = trace_->events.size();
    flow = iterate_generator(loop, main_of(value), [&](Object* given) {
      Context& around = program_.contexts_.emplace_back(context);  // the yield may be reached more than once
      around.outer = context_;
      const Keep keep(context_);
      context_ = &around;
      if (target) assign(target, given, node);
      return with_items(node, items, next + 1);
    });
    // Whichever yield is reached, the block runs: a return behind one skips none of it.
    for (std::size_t i = entered; i < trace_->events.size(); ++i) {
      Event& event = trace_->events[i];
      if (event.is(EventKind::kJump) && event.callee == "return" && event.frame != nullptr &&
          event.frame->function == made->function)
        event.skip_end = event.index + 1;
    }
    return flow == Flow::kBreak || flow == Flow::kContinue || flow == Flow::kReturn ? flow : Flow::kNormal;
  }
  context_ = &context;
  return with_object(node, items, next, value, target);
}

void Interpreter::enter(const Object& manager, Node node) {
  Context& context = program_.contexts_.emplace_back();
  context.outer = context_;
  context.callee = manager.callee;
  context.receiver = manager.receiver;
  context.arguments = manager.made_by;
  context.node = node;
  context.file = file_;
  context_ = &context;
}

void Interpreter::leave(const Object& manager) {
  for (const Context* at = context_; at != nullptr; at = at->outer) {
    if (at->callee == manager.callee && at->arguments == manager.made_by) {
      context_ = at->outer;
      return;
    }
  }
}

// An object, maybe of a class of the files: its __enter__ and __exit__ run too.
Flow Interpreter::with_object(Node node, const std::vector<Node>& items, std::size_t next, Object* value, Node target) {
  Object* const manager = main_of(value);
  const Class* const of = manager->type == Type::kInstance ? manager->of_class : nullptr;
  if (const Function* enter = of == nullptr ? nullptr : of->method("__enter__"))
    value = invoke(*enter, manager, modules_[enter->file], arguments_of(), items[next]);
  if (target) assign(target, value, node);
  const auto from = static_cast<std::uint32_t>(trace_->events.size());
  const Flow flow = with_items(node, items, next + 1);
  const Function* const leave = of == nullptr ? nullptr : of->method("__exit__");
  if (leave != nullptr)
    on_every_way_out(from, [&] {
      const Argument no_error{"", none_, items[next]};
      invoke(*leave, manager, modules_[leave->file], arguments_of({no_error, no_error, no_error}), items[next]);
    });
  return flow;
}

// What runs after the events from `from` on, however they were left: no jump among them skips it.
void Interpreter::on_every_way_out(std::uint32_t from, const Action& action) {
  std::vector<std::pair<std::vector<std::uint32_t>*, std::uint32_t>> jumps;
  for (auto* open : {&return_jumps_, &loop_breaks_, &turn_continues_, &raises_}) {
    for (const std::uint32_t index : *open) {
      if (index >= from) jumps.emplace_back(open, index);
    }
  }
  const auto here = static_cast<std::uint32_t>(trace_->events.size());
  action();
  // Each goes on jumping behind.
  for (const auto& [open, index] : jumps) {
    trace_->events[index].skip_end = here;
    Event again = trace_->events[index];
    again.index = static_cast<std::uint32_t>(trace_->events.size());
    again.skip_end = again.index + 1;
    std::ranges::replace(*open, index, again.index);
    trace_->events.push_back(again);
  }
}

Flow Interpreter::try_statement(Node node) {
  const Guard* const outer = guard_;
  const auto raises_before = raises_.size();
  const auto begin = static_cast<std::uint32_t>(trace_->events.size());
  Flow flow = block(node.child("body"));
  bool handled = false;
  for (const Node clause : node.children()) {
    if (!clause.is("except_clause") && !clause.is("except_group_clause")) continue;
    if (!handled) {
      // What the body raises is caught here: it skips the rest of the body only.
      for (std::size_t i = raises_before; i < raises_.size(); ++i)
        trace_->events[raises_[i]].skip_end = static_cast<std::uint32_t>(trace_->events.size());
      raises_.resize(raises_before);
    }
    handled = true;
    Changes changes(*scope_);
    guard_ = outer;
    guard_ = add_guard(GuardKind::kExcept, clause, node, true, nullptr);
    Flow caught = Flow::kNormal;
    for (const Node child : clause.children()) {
      if (child.is("block")) caught = block(child);
      if (child.is("as_pattern")) assign(child.child("alias"), unknown(child, kLocal), node);
    }
    guard_ = outer;
    if (caught != Flow::kNormal) {
      changes.undo();
    } else {
      for (const Changes::Change& change : changes.all()) {
        if (change.before != nullptr) scope_->set(change.name, join(change.before, change.now, 0));
      }
      if (flow == Flow::kRaise) flow = Flow::kNormal;
    }
  }
  guard_ = outer;
  for (const Node clause : node.children()) {
    if (clause.is("else_clause") && flow == Flow::kNormal) flow = block(clause.child("body"));
    if (!clause.is("finally_clause")) continue;
    on_every_way_out(begin, [&] {
      for (const Node child : clause.children()) {
        if (!child.is("block")) continue;
        if (const Flow last = block(child); last != Flow::kNormal) flow = last;
      }
    });
  }
  return flow;
}

Flow Interpreter::return_statement(Node node) {
  Object* value = node.first_child() ? eval(node.first_child()) : none_;
  // What decides which return is taken decides the value.
  for (const Guard* guard = guard_; guard != nullptr; guard = guard->outer) {
    if ((guard->taints & (kRank | kLocal)) != 0 && guard->file == file_ && scope_->function != nullptr &&
        guard->statement.begin() >= scope_->function->node.begin() &&
        guard->statement.end() <= scope_->function->node.end())
      value = join(value, nullptr, static_cast<Taints>(guard->taints & (kRank | kLocal)));
  }
  returned_.push_back(value);
  return jump(node, "return", Flow::kReturn);
}

Flow Interpreter::break_statement(Node node) {
  return jump(node, "break", Flow::kBreak);
}

Flow Interpreter::continue_statement(Node node) {
  return jump(node, "continue", Flow::kContinue);
}

Flow Interpreter::raise_statement(Node node) {
  if (const Node what = node.first_child()) eval(what);
  return jump(node, "raise", Flow::kRaise);
}

Flow Interpreter::jump(Node node, std::string_view name, Flow flow) {
  Event& event = emit(EventKind::kJump, name, node, nullptr, nullptr, nullptr, nullptr);
  event.skip_end = event.index + 1;
  auto& open = flow == Flow::kBreak      ? loop_breaks_
               : flow == Flow::kContinue ? turn_continues_
               : flow == Flow::kReturn   ? return_jumps_
                                         : raises_;
  open.push_back(event.index);
  return flow;
}

void Interpreter::land(const std::vector<std::uint32_t>& jumps) {
  for (const std::uint32_t index : jumps)
    trace_->events[index].skip_end = static_cast<std::uint32_t>(trace_->events.size());
}

}  // namespace fx::knowledge::code
