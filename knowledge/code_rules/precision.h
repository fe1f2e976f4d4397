// The dtypes a program computes in, as far as its sharding policies and autocast say.
#pragma once

#include <string_view>
#include <vector>

#include "knowledge/code/program.h"

namespace fx::knowledge::code {

enum class ComputeType { kUnknown, kNone, kFloat16, kBfloat16, kFloat32 };

// The precision policy of a fully_shard or FSDP call; nullptr: none given, or not seen.
const Object* precision_policy(const Event& shard);
// Its param_dtype. kNone: no policy or no param_dtype. A dtype that differs by path is kUnknown.
ComputeType policy_type(const Event& shard);
ComputeType dtype_of(const Object* dtype);
// What an autocast context computes in; kNone when it is switched off, kUnknown when a value decides.
ComputeType autocast_type(const Context& autocast);
bool is_autocast(std::string_view callee);
// The innermost autocast around the event; nullptr: none.
const Context* autocast_around(const Event& event);

// A torch.amp, torch.cuda.amp or sharded gradient scaler, or a parameter that is named like one.
bool is_scaler(const Object* object);
// enabled=False, or decided by a value.
bool may_be_disabled(const Object* scaler);

}  // namespace fx::knowledge::code
