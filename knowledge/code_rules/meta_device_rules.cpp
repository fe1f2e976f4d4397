#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

const Context* meta_context(const Event& event) {
  for (const Context* at = event.context; at != nullptr; at = at->outer) {
    if (at->callee == "torch.device" && at->arguments != nullptr &&
        is_constant_text(at->arguments->get("type", 0), "meta"))
      return at;
    if (last_part(at->callee) == "init_empty_weights") return at;
  }
  return nullptr;
}

// Values come from here: an initialiser, a state dict, or code that was not sent and gets the model.
bool fills_values(const Event& event, const Object* model) {
  switch (event.kind) {
    case EventKind::kInitWeights:
    case EventKind::kLoadState:
      return same_model(event.subject, model);
    case EventKind::kDcpLoad:
      return true;
    case EventKind::kCall:
      break;
    default:
      return false;
  }
  if (event.callee == ".apply") return same_model(event.subject, model);
  if (event.callee.starts_with("torch.nn.init")) return true;
  if (event.callee.starts_with("torch.") || event.arguments == nullptr) return false;
  const bool handed = std::ranges::any_of(event.arguments->list, [&](const Argument& argument) {
    const Object* value = main_of(argument.value);
    return value->type == Type::kModel && same_model(value, model);
  });
  const std::string_view name = last_part(event.callee);
  const bool reads = contains_ignoring_case(name, "load") || contains_ignoring_case(name, "init") ||
                     contains_ignoring_case(name, "restore") || contains_ignoring_case(name, "resume") ||
                     contains_ignoring_case(name, "reset") || contains_ignoring_case(name, "fill");
  return reads && (handed || (event.subject != nullptr && same_model(event.subject, model)));
}

bool is_used(const Trace& trace, const Object* model, std::uint32_t from) {
  return std::any_of(trace.events.begin() + from, trace.events.end(), [&](const Event& event) {
    return (event.is(EventKind::kForward) || event.is(EventKind::kOptimizer)) && same_model(event.subject, model);
  });
}

bool filled_after(const Trace& trace, const Object* model, std::uint32_t from) {
  return std::any_of(trace.events.begin() + from, trace.events.end(),
                     [&](const Event& event) { return fills_values(event, model); });
}

const Event* to_empty_of(const Trace& trace, const Object* model) {
  for (const Event& event : trace.events) {
    if (event.is(EventKind::kToEmpty) && same_model(event.subject, model)) return &event;
  }
  return nullptr;
}

// param_init_fn that only allocates: the to_empty call in it. A missing node: it fills, or is not seen, or rank 0
// sends.
std::pair<const SourceFile*, Node> only_allocates(const Event& shard) {
  const Object* init = shard.argument("param_init_fn");
  if (init == nullptr || init->function == nullptr || !is_absent(shard, "sync_module_states")) return {};
  Node empty;
  std::vector<Node> open = {init->function->node};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    for (Node child = node.first_child(); child; child = child.next_sibling()) open.push_back(child);
    if (!node.is("call")) continue;
    const Node callee = node.child("function");
    const std::string_view name = callee.is("attribute") ? callee.child("attribute").text() : callee.text();
    if (name == "to_empty")
      empty = node;
    else if (name != "device" && name != "current_device" && name != "isinstance" && name != "hasattr")
      return {};
  }
  return {init->function->file, empty};
}

// A buffer of the model that no state dict holds; "" if there is none.
std::string_view transient_buffer(const Trace& trace, const Object* model, std::uint32_t before) {
  for (std::uint32_t i = 0; i < before; ++i) {
    const Event& event = trace.events[i];
    if (event.callee != ".register_buffer" || !same_model(event.subject, model)) continue;
    const Object* persistent = event.argument("persistent", 2);
    const Object* name = event.argument("name", 0);
    if (persistent != nullptr && persistent->is_false() && name != nullptr) return name->name;
  }
  return {};
}

}  // namespace

void meta_params_uninitialized(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& made : trace.events) {
      if (!made.is(EventKind::kCall) || made.pass != 1 || made.result == nullptr || made.result->type != Type::kModel ||
          made.result->parent != nullptr)
        continue;
      const Context* meta = meta_context(made);
      const Event* shard = meta == nullptr ? nullptr : next_shard(trace, made.result, made.index);
      if (shard == nullptr) continue;
      if (const auto [file, empty] = only_allocates(*shard); empty) {
        if (is_used(trace, made.result, shard->index) && !filled_after(trace, made.result, shard->index + 1))
          findings.at(file, empty);
        continue;
      }
      if (!is_absent(*shard, "param_init_fn") || !is_used(trace, made.result, shard->index)) continue;
      if (const Event* emptied = to_empty_of(trace, made.result)) {
        if (!filled_after(trace, made.result, emptied->index + 1)) findings.at(*emptied);
      } else if (!filled_after(trace, made.result, made.index + 1)) {
        findings.at(meta->file, meta->node);
      }
    }
  }
}

void buffers_lost_after_to_empty(const Program& program, Findings& findings) {
  for (const Trace& trace : program.traces()) {
    for (const Event& emptied : trace.events) {
      if (!emptied.is(EventKind::kToEmpty) || emptied.pass != 1) continue;
      const std::string_view buffer = transient_buffer(trace, emptied.subject, emptied.index);
      if (buffer.empty()) continue;
      bool loaded = false, recomputed = false;
      for (std::size_t i = emptied.index + 1; i < trace.events.size(); ++i) {
        const Event& event = trace.events[i];
        loaded |= event.is(EventKind::kDcpLoad) ||
                  (event.is(EventKind::kLoadState) && same_model(event.subject, emptied.subject));
        recomputed |= event.is(EventKind::kInitWeights) || event.callee == ".register_buffer" ||
                      event.callee == ".apply" ||
                      ((event.is(EventKind::kSetAttribute) || event.is(EventKind::kForwardMethod)) &&
                       same_model(event.receiver, emptied.subject));
        // Copies the values in place: self.table.copy_(...)
        recomputed |= event.callee == ".copy_" && event.receiver != nullptr && event.receiver->name == buffer;
      }
      if (loaded && !recomputed)
        findings.at(emptied, "The buffer '" + quote_input(buffer, 60) + "' is in no state dict.");
    }
  }
}

}  // namespace fx::knowledge::checks
