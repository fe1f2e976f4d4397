#include "knowledge/code_rules/precision.h"

#include "base/text.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {

ComputeType dtype_of(const Object* dtype) {
  if (dtype == nullptr || dtype->type == Type::kNone) return ComputeType::kNone;
  ComputeType type = ComputeType::kUnknown;
  for (const Object* one : alternatives(dtype)) {
    const ComputeType now = is_dtype(one, "bfloat16")  ? ComputeType::kBfloat16
                            : is_dtype(one, "float16") ? ComputeType::kFloat16
                            : is_dtype(one, "float32") ? ComputeType::kFloat32
                                                       : ComputeType::kUnknown;
    if (now == ComputeType::kUnknown || (type != ComputeType::kUnknown && type != now)) return ComputeType::kUnknown;
    type = now;
  }
  return type;
}

const Object* precision_policy(const Event& shard) {
  if (shard.arguments == nullptr) return nullptr;
  const bool first = ends_with_part(shard.callee, "FullyShardedDataParallel");
  return shard.arguments->get(first ? "mixed_precision" : "mp_policy");
}

ComputeType policy_type(const Event& shard) {
  const Object* policy = precision_policy(shard);
  if (policy == nullptr) {
    const bool hidden = shard.arguments != nullptr && shard.arguments->has_unknown();
    return hidden ? ComputeType::kUnknown : ComputeType::kNone;
  }
  ComputeType type = ComputeType::kUnknown;
  for (const Object* one : alternatives(policy)) {
    if (one->made_by == nullptr) return one->type == Type::kNone ? ComputeType::kNone : ComputeType::kUnknown;
    const ComputeType now = dtype_of(one->made_by->get("param_dtype", 0));
    if (type != ComputeType::kUnknown && type != now) return ComputeType::kUnknown;
    type = now;
  }
  return type;
}

bool is_autocast(std::string_view callee) {
  return callee == "torch.amp.autocast" || callee == "torch.autocast" || callee == "torch.cuda.amp.autocast";
}

const Context* autocast_around(const Event& event) {
  for (const Context* context = event.context; context != nullptr; context = context->outer) {
    if (is_autocast(context->callee)) return context;
  }
  return nullptr;
}

ComputeType autocast_type(const Context& autocast) {
  if (autocast.arguments == nullptr) return ComputeType::kUnknown;
  const bool old_name = autocast.callee == "torch.cuda.amp.autocast";
  if (const Object* enabled = main_of(autocast.arguments->get("enabled", old_name ? 0 : 2))) {
    if (enabled->is_false()) return ComputeType::kNone;
    if (!enabled->is_true()) return ComputeType::kUnknown;
  }
  if (const Object* dtype = autocast.arguments->get("dtype", 1)) return dtype_of(dtype);
  return old_name || is_constant_text(autocast.arguments->get("device_type", 0), "cuda") ? ComputeType::kFloat16
                                                                                         : ComputeType::kUnknown;
}

bool is_scaler(const Object* object) {
  object = main_of(object);
  if (object == nullptr) return false;
  return object->type == Type::kScaler ||
         (object->type == Type::kUnknown && contains_ignoring_case(object->name, "scaler"));
}

bool may_be_disabled(const Object* scaler) {
  scaler = main_of(scaler);
  if (scaler == nullptr || scaler->made_by == nullptr) return false;
  const Object* enabled = main_of(scaler->made_by->get("enabled"));
  return enabled != nullptr && !enabled->is_true();
}

}  // namespace fx::knowledge::code
