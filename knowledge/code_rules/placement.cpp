#include "knowledge/code_rules/placement.h"

#include "base/text.h"
#include "knowledge/code/names.h"

namespace fx::knowledge {

using namespace code;

bool names_gpu(const Object* device) {
  device = main_of(device);
  if (device == nullptr) return false;
  if (device->type == Type::kText) return device->name.starts_with("cuda");
  if (device->type == Type::kNumber || device->has(kRank)) return true;
  if (device->callee == "torch.device") return names_gpu(device->made_by->get("type", 0));
  if (device->callee == "torch.cuda.current_device") return true;
  if (device->type != Type::kUnknown) return false;
  for (const std::string_view part : {"dev", "gpu", "rank"}) {
    if (contains_ignoring_case(device->name, part)) return true;
  }
  return false;
}

bool names_cpu_or_meta(const Object* device) {
  device = main_of(device);
  if (device == nullptr) return false;
  if (device->callee == "torch.device") return names_cpu_or_meta(device->made_by->get("type", 0));
  return device->type == Type::kText && (device->name == "cpu" || device->name == "meta");
}

bool moves_to_gpu(const Event& event) {
  if (!event.is(EventKind::kMove)) return false;
  if (event.callee == ".cuda") return true;
  return event.callee == ".to" && names_gpu(event.argument("device", 0));
}

bool is_offload_policy(const Object* policy) {
  policy = main_of(policy);
  if (policy == nullptr || policy->type == Type::kNone) return false;
  if (policy->type == Type::kBool) return policy->is_true();
  const std::string_view made = last_part(policy->callee);
  if (made == "CPUOffloadPolicy") return true;
  if (made != "CPUOffload" || policy->made_by == nullptr) return false;
  const Object* params = main_of(policy->made_by->get("offload_params", 0));
  return params != nullptr && params->is_true();
}

bool shards_with_offload(const Event& shard) {
  return is_offload_policy(shard.argument("offload_policy")) || is_offload_policy(shard.argument("cpu_offload"));
}

}  // namespace fx::knowledge
