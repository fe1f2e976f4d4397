#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/placement.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

// Some code picks a device by an index of this process, or leaves one device visible to it.
bool picks_by_process(const Event& event) {
  if (event.is(EventKind::kSetDevice) || event.callee == "torch.cuda.device") return true;
  if (event.is(EventKind::kInitGroup) && event.argument("device_id") != nullptr) return true;
  if (event.is(EventKind::kSetItem) && event.callee == "os.environ") {
    const Object* key = event.argument("", 0);
    return key != nullptr && key->name == "CUDA_VISIBLE_DEVICES";
  }
  if (event.is(EventKind::kMove) || event.is(EventKind::kShard) || event.callee == "torch.device" ||
      event.callee.ends_with("set_device")) {
    for (const Argument& argument : event.arguments == nullptr ? std::pmr::vector<Argument>{} : event.arguments->list) {
      if (argument.value->has(kRank)) return true;
    }
  }
  return false;
}

// CUDA through whatever device is current.
bool uses_current_device(const Event& event) {
  if (event.is(EventKind::kMove) && event.callee == ".cuda") return event.arguments->get("device", 0) == nullptr;
  if (event.is(EventKind::kMove) && event.callee == ".to") {
    const Object* device = event.argument("device", 0);
    return device != nullptr && (is_constant_text(device, "cuda") ||
                                 (device->callee == "torch.device" && device->made_by->list.size() == 1 &&
                                  is_constant_text(device->made_by->get("type", 0), "cuda")));
  }
  if (event.callee == "torch.cuda.current_device") return true;
  const Object* device = event.arguments == nullptr ? nullptr : main_of(event.arguments->get("device"));
  return event.is(EventKind::kCall) && event.callee.starts_with("torch.") && is_constant_text(device, "cuda");
}

bool uses_nccl(const Event& group) {
  const Object* backend = group.argument("backend", 0);
  return backend == nullptr || (backend->type == Type::kText && contains(backend->name, "nccl"));
}

// From torch 2.8 on a CUDA mesh binds the device; before, only a mesh that also opens the group.
bool mesh_binds(const Program& program, const Trace& trace, const Event& group) {
  for (const Event& event : trace.events) {
    if (uses_current_device(event)) return false;
    if (event.is(EventKind::kMesh))
      return event.index < group.index || program.context().torch_version.empty() ||
             !program.context().torch_below(2, 8);
  }
  return false;
}

// A set-up function that was not sent may bind the device.
bool set_up_elsewhere(const Trace& trace) {
  return std::ranges::any_of(trace.events, [](const Event& event) {
    if (!event.is(EventKind::kCall) || event.callee.starts_with("torch.") || event.callee == ".bind") return false;
    for (const std::string_view word : {"setup", "set_up", "init_dist", "bind", "device"}) {
      if (contains_ignoring_case(event.callee, word)) return true;
    }
    return false;
  });
}

// 3, "cuda:3", torch.device("cuda", 3) or torch.device("cuda:3"): the number, as far as it is seen.
const Object* index_in(const Object* device) {
  if (device != nullptr && device->callee == "torch.device") {
    const Object* apart = main_of(device->made_by->get("index", 1));
    device = apart != nullptr ? apart : main_of(device->made_by->get("type", 0));
  }
  const bool text = device != nullptr && device->type == Type::kText && device->items.size() == 1;
  return text ? main_of(device->items.front()) : device;
}

}  // namespace

void device_not_bound(const Program& program, Findings& findings) {
  // transformers' training arguments bind the device when they are parsed.
  if (program.uses_accelerate() || program.imports("transformers.Trainer") ||
      program.imports("transformers.TrainingArguments"))
    return;
  const bool several_nodes = program.context().nodes.value_or(1) > 1;
  bool bound = program.calls("torch.cuda.set_device") || program.calls(".set_device");
  for (const Trace& trace : program.traces()) bound |= std::ranges::any_of(trace.events, picks_by_process);
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kSetDevice) && several_nodes) {
        const Object* index = index_in(event.argument("device", 0));
        if (index != nullptr && index->identity == Identity::kGlobalRank)
          findings.at(event, "The index is the global rank.");
      }
      if (bound || !event.is(EventKind::kInitGroup) || !trace.from_entry || !uses_nccl(event)) continue;
      if (set_up_elsewhere(trace) || mesh_binds(program, trace, event)) continue;
      if (std::ranges::any_of(trace.events, uses_current_device)) findings.at(event);
    }
  }
}

}  // namespace fx::knowledge::checks
