#include <algorithm>
#include <array>

#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/placement.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

constexpr std::array<std::string_view, 16> kFactories = {
    "tensor",  "zeros",    "ones", "full",       "empty",       "arange",    "rand",       "randn",
    "randint", "linspace", "eye",  "LongTensor", "FloatTensor", "IntTensor", "from_numpy", "DoubleTensor"};

bool is_factory(const Object* object) {
  return object->callee.starts_with("torch.") && object->callee.find('.', 6) == std::string_view::npos &&
         std::ranges::find(kFactories, last_part(object->callee)) != kFactories.end();
}

// Where the last move before this event left it: -1 CPU, 1 GPU, 0 nowhere.
int last_move(const Trace& trace, const Object* object, std::uint32_t before) {
  int at = 0;
  for (std::uint32_t i = 0; i < before; ++i) {
    const Event& event = trace.events[i];
    if (!event.is(EventKind::kMove) || event.subject != object) continue;
    if (event.callee == ".cpu")
      at = -1;
    else if (event.callee == ".to" && names_cpu_or_meta(event.argument("device", 0)))
      at = -1;
    else if (event.callee == ".cuda" || event.callee == ".to")
      at = 1;
  }
  return at;
}

// What is added up in place stays where it was.
const Object* kept_in_place(const Object* tensor) {
  for (int i = 0; i < 8 && tensor != nullptr && tensor->made_by != nullptr; ++i) {
    if (tensor->callee.size() != 2 || tensor->callee[1] != '=' || tensor->made_by->list.size() != 2) break;
    tensor = main_of(tensor->made_by->list[0].value);
  }
  return tensor;
}

bool lives_on_cpu(const Trace& trace, const Object* tensor, std::uint32_t before) {
  if (tensor == nullptr) return false;
  if (const int moved = last_move(trace, tensor, before); moved != 0) return moved < 0;
  if (const Object* kept = kept_in_place(tensor); kept != tensor && kept != nullptr)
    return lives_on_cpu(trace, kept, before);
  if (!is_factory(tensor)) return false;
  const Object* device = main_of(tensor->made_by->get("device"));
  if (device != nullptr) return names_cpu_or_meta(device);
  return !tensor->made_by->has_unknown();
}

bool is_tensor_collective(const Event& event) {
  if (!event.is(EventKind::kCollective) || !event.callee.starts_with("torch.distributed.")) return false;
  const std::string_view name = last_part(event.callee);
  return name != "barrier" && name != "monitored_barrier" && name.find("object") == std::string_view::npos;
}

}  // namespace

void cpu_tensor_on_nccl(const Program& program, Findings& findings) {
  const auto& backends = program.backends();
  const bool only_nccl =
      !backends.empty() && std::ranges::all_of(backends, [](const std::string& name) { return name == "nccl"; });
  if (!only_nccl || program.calls("torch.set_default_device") || program.calls("torch.set_default_tensor_type")) return;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!is_tensor_collective(event) || event.argument("group") != nullptr) continue;
      for (const Argument& argument : event.arguments->list) {
        const Object* value = main_of(argument.value);
        const Object* tensor =
            value->type == Type::kSequence && !value->items.empty() ? main_of(value->items.front()) : value;
        const Context* device = nullptr;
        for (const Context* at = event.context; at != nullptr; at = at->outer)
          device = at->callee == "torch.device" ? at : device;
        if (device == nullptr && lives_on_cpu(trace, tensor, event.index)) findings.at(event);
      }
    }
  }
}

}  // namespace fx::knowledge::checks
