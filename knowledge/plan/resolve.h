// From arguments to one starting setting, with the list of what was left open.
#pragma once

#include "knowledge/plan/request.h"
#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

struct Open {
  bool sharding = false, checkpointing = false, micro_batch = false, accumulation = false, offload = false,
       loss = false, master = false, optimizer = false, reshard = false, compile = false;
  bool method = false;  // neither the method nor anything about adapters was given
  bool tp = false;      // none of tp, pp, cp, ep was given
};

struct Resolved {
  Setting setting;
  Open open;
  double global_batch = 0;           // sequences of one optimizer step over all ranks; 0: not given
  std::vector<std::string> assumed;  // what was chosen without a search, and why
};

// Checks that the settings agree with each other and with model and machine; every mistake with its field path.
Result<Resolved> resolve(const PlanArgs& args, const ModelShape& shape, const ParamCount& count,
                         const Machine& machine);

std::string_view to_string(Sharding sharding);
std::string_view to_string(Checkpointing checkpointing);
std::string_view to_string(Attention attention);
std::string_view to_string(Loss loss);
std::string_view to_string(Optimizer optimizer);
std::string_view to_string(Method method);

}  // namespace fx::knowledge::plan
