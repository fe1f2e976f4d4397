// Event lines: what an engine process reports while it runs, one JSON object a line, and a reader that a half-written
// or damaged file cannot stop. Times are unix milliseconds; a number that is NaN or infinite is written as null.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spec/json.h"

namespace fx {

struct StartEvent {
  long long ranks = 0;
  long long steps = 0;       // that the run will have done at its end
  long long first_step = 0;  // steps done before, when resumed
  long long parameters = 0;  // of the whole model
  std::string backend;       // gloo, nccl, shm
  std::string param_dtype, reduce_dtype;
  long long packs = 0, documents = 0;  // in the data set
  double product_gflops = 0;           // of one rank's matrix products here; 0: not measured
  long long trained = 0;               // parameters, of the whole model or of its adapters; 0: not said
};

struct StepEvent {
  long long step = 0;                                           // 1 for the first
  double loss = std::numeric_limits<double>::quiet_NaN();       // mean over the valid tokens of the global batch
  double grad_norm = std::numeric_limits<double>::quiet_NaN();  // global, before clipping
  double lr = 0;                                                // used in this step
  long long tokens = 0;                                         // computed in this step over all ranks
  double tokens_per_s = 0;                                      // over all ranks
  double comm_ms = 0;                                           // exposed: time rank 0 waited for collectives
  long long comm_bytes = 0;                                     // sent by one rank
  std::vector<double> peak_bytes;                               // resident memory, largest so far, per rank
};

struct CheckpointEvent {
  long long step = 0;
  std::string path;    // complete folder
  double seconds = 0;  // time that training stood still for it
  long long bytes = 0;
  double write_seconds = 0;  // in the background, by rank 0; 0: written while training stood still
};

struct FinishEvent {
  long long step = 0;
  std::string state;   // succeeded, or stopped (SIGTERM)
  std::string output;  // HF folder; empty when none was written
  double seconds = 0;
};

struct ErrorEvent {
  long long rank = -1;
  std::string what;
  std::string where;        // phase: load, data, forward, backward, optimizer, checkpoint, ...
  std::string collective;   // the one it was in, if any: all_gather, reduce_scatter, all_reduce, barrier
  long long sequence = -1;  // how many collectives this rank had begun before; -1: not in one
  std::string hint;
};

struct Event {
  long long time_ms = 0;
  std::variant<StartEvent, StepEvent, CheckpointEvent, FinishEvent, ErrorEvent> body;
};

// "flight_rank_0.json", in the folder of the event file: a rank's last collectives, written when it fails.
std::string flight_record_name(long long rank);

std::string_view kind_of(const Event& event);  // start, step, checkpoint, finish, error
Json to_json(const Event& event);
// One line with its line end, ready for one write() call.
std::string to_event_line(const Event& event);
Result<Event> parse_event(std::string_view line);

struct EventBatch {
  std::vector<Event> events;
  std::size_t consumed = 0;  // bytes of whole lines; begin the next read there
  std::size_t skipped = 0;   // lines that are no event
};
// Reads whole lines only: a last line without its line end is left for the next call.
EventBatch read_events(std::string_view text);

}  // namespace fx
