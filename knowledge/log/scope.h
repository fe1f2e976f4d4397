// Is this text about a distributed training job at all, and what kinds of programs speak in it?
#pragma once

#include <vector>

#include "knowledge/log/log_book.h"

namespace fx::knowledge {

struct Scope {
  bool distributed = false;  // ranks, torch.distributed, NCCL, FSDP, DeepSpeed, launchers
  bool training = false;     // a trainer speaks: losses, steps, optimizer, checkpoints, training scripts
  bool serving = false;      // an inference server speaks
  bool applicable = false;
};

const std::vector<Mark>& scope_marks();
Scope find_scope(const LogBook& book, bool has_losses);

}  // namespace fx::knowledge
