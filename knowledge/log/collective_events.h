// Reads what ranks say about their collectives: watchdog lines, process group status, fingerprints, recorder dumps, and
// the JSON error lines of our own engine.
#pragma once

#include <vector>

#include "knowledge/log/event.h"
#include "knowledge/log/log_book.h"

namespace fx::knowledge {

const std::vector<Mark>& collective_marks();
std::vector<CollectiveTimeout> read_collective_timeouts(const LogBook& book);
std::vector<WorkStatus> read_work_status(const LogBook& book);

// What a rank was running when ranks compared notes: TORCH_DISTRIBUTED_DEBUG fingerprints and flight-recorder rows.
struct RunningCollective {
  int line = 0;
  int rank = -1;
  long long sequence = -1;
  std::string operation;
  std::string shape;
  std::string state;  // flight recorder: "scheduled", "started", "completed"
  std::string group;
  std::string stage;   // our engine's flight recorder: what the call was for
  std::string frames;  // flight recorder: functions that issued it, innermost first
};
std::vector<RunningCollective> read_running_collectives(const LogBook& book);

}  // namespace fx::knowledge
