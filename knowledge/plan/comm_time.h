// Bytes and seconds of the collectives of one micro-batch on one rank.
#pragma once

#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

struct CommTime {
  double forward = 0, backward = 0;  // seconds that can overlap with compute of the same pass
  double serial = 0;                 // seconds that cannot: tensor parallel, first and last unit
  double per_step = 0;               // seconds once an optimizer step: DDP or HSDP reductions under accumulation
  double bytes = 0;                  // received by one rank
  bool between_nodes = false;
};
CommTime comm_time(const RankModel& model, const Setting& setting, const Machine& machine, double tokens);

}  // namespace fx::knowledge::plan
