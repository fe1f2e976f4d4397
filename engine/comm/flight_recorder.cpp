#include "engine/comm/flight_recorder.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "spec/json.h"

namespace fx::engine {
namespace {

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string seconds_text(std::int64_t since_ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(steady_ns() - since_ns) / 1e9);
  return text;
}

}  // namespace

FlightRecorder::FlightRecorder(int rank, std::size_t capacity)
    : rank_(rank), records_(std::max<std::size_t>(1, capacity)), phase_since_ns_(steady_ns()) {}

int FlightRecorder::add_group(std::string name, std::string backend, std::vector<int> ranks) {
  const std::lock_guard lock(mutex_);
  Group group;
  group.name = std::move(name), group.backend = std::move(backend), group.ranks = std::move(ranks);
  groups_.push_back(std::move(group));
  return static_cast<int>(groups_.size()) - 1;
}

std::int64_t FlightRecorder::schedule(int group, WorkCall call) {
  const std::lock_guard lock(mutex_);
  ++activity_;
  const std::int64_t ticket = next_ticket_++;
  Group& of = groups_[static_cast<std::size_t>(group)];
  of.last_enqueued = call.operation + ", " + call.label;
  at(ticket) = {ticket, ++of.enqueued, group, std::move(call), State::kScheduled, unix_ns(), 0, 0};
  return ticket;
}

void FlightRecorder::start(std::int64_t ticket) {
  const std::lock_guard lock(mutex_);
  Record& record = at(ticket);
  if (record.ticket != ticket) return;  // overwritten: more calls in flight than the ring holds
  record.state = State::kStarted;
  record.started_ns = unix_ns();
  Group& group = groups_[static_cast<std::size_t>(record.group)];
  group.started = std::max(group.started, record.sequence);
}

void FlightRecorder::begin_wait() {
  const std::lock_guard lock(mutex_);
  ++activity_;
  waiting_since_ns_ = steady_ns();
}

void FlightRecorder::complete(std::int64_t ticket) {
  const std::lock_guard lock(mutex_);
  ++activity_;
  waiting_since_ns_ = 0;
  Record& record = at(ticket);
  if (record.ticket != ticket) return;
  record.state = State::kCompleted;
  record.completed_ns = unix_ns();
  Group& group = groups_[static_cast<std::size_t>(record.group)];
  if (record.sequence < group.completed) return;
  group.completed = record.sequence;
  group.last_completed = record.call.operation + ", " + record.call.label;
}

std::int64_t FlightRecorder::sequence_of(std::int64_t ticket) const {
  const std::lock_guard lock(mutex_);
  return at(ticket).sequence;
}

void FlightRecorder::enter(std::string phase) {
  const std::lock_guard lock(mutex_);
  ++activity_;
  phase_ = std::move(phase);
  phase_since_ns_ = steady_ns();
}

std::string FlightRecorder::phase() const {
  const std::lock_guard lock(mutex_);
  return phase_;
}

std::int64_t FlightRecorder::activity() const {
  const std::lock_guard lock(mutex_);
  return activity_;
}

double FlightRecorder::waiting_seconds() const {
  const std::lock_guard lock(mutex_);
  return waiting_since_ns_ == 0 ? 0 : static_cast<double>(steady_ns() - waiting_since_ns_) / 1e9;
}

std::vector<std::string> FlightRecorder::status_lines() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const Group& group : groups_) {
    const auto work = [](std::int64_t number, const std::string& what) {
      return std::to_string(number) + (what.empty() ? "" : " (" + what + ")");
    };
    lines.push_back("[rank " + std::to_string(rank_) + "] pg id " + group.name +
                    ": last enqueued work: " + work(group.enqueued, group.last_enqueued) +
                    ", last completed work: " + work(group.completed, group.last_completed) + "; in phase \"" + phase_ +
                    "\" for " + seconds_text(phase_since_ns_) + " s");
  }
  return lines;
}

// The names are those of PyTorch's dumps; "stage" is ours.
std::string FlightRecorder::entry_line(const Record& record) const {
  static constexpr const char* kStates[] = {"scheduled", "started", "completed"};
  const Group& group = groups_[static_cast<std::size_t>(record.group)];
  const Json time = record.started_ns == 0 ? Json() : Json(record.started_ns);
  const Json end = record.completed_ns == 0 ? Json() : Json(record.completed_ns);
  const Json entry = {
      {"record_id", record.ticket},
      {"pg_id", record.group},
      {"process_group", Json::array({std::to_string(record.group), group.name})},
      {"collective_seq_id", record.sequence},
      {"op_id", record.sequence},
      {"profiling_name", group.backend + ":" + record.call.operation},
      {"stage", record.call.label},
      {"time_created_ns", record.created_ns},
      {"input_sizes", Json::array({Json::array({record.call.elements_in})})},
      {"input_dtypes", Json::array({record.call.dtype})},
      {"output_sizes", Json::array({Json::array({record.call.elements_out})})},
      {"output_dtypes", Json::array({record.call.dtype})},
      {"state", kStates[static_cast<std::size_t>(record.state)]},
      {"time_discovered_started_ns", time},
      {"time_discovered_completed_ns", end},
      {"retired", record.state == State::kCompleted},
      {"is_p2p", false},
  };
  return to_text(entry);
}

std::string FlightRecorder::dump(const std::string& reason) const {
  const std::lock_guard lock(mutex_);
  Json config = Json::object(), status = Json::object();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    config[std::to_string(i)] = {{"name", group.name}, {"desc", group.name}, {"ranks", to_text(Json(group.ranks))}};
    status[std::to_string(i)] = {{"last_enqueued_collective", group.enqueued},
                                 {"last_started_collective", group.started},
                                 {"last_completed_collective", group.completed}};
  }
  std::string out = "{\"version\": \"2.10\", \"rank\": " + std::to_string(rank_) +
                    ",\n\"reason\": " + to_text(Json(reason)) + ",\n\"phase\": " + to_text(Json(phase_)) +
                    ", \"phase_seconds\": " + seconds_text(phase_since_ns_) + ",\n\"pg_config\": " + to_text(config) +
                    ",\n\"pg_status\": " + to_text(status) + ",\n\"entries\": [";
  const auto size = static_cast<std::int64_t>(records_.size());
  for (std::int64_t t = std::max<std::int64_t>(0, next_ticket_ - size); t < next_ticket_; ++t) {
    if (out.back() == '}') out += ',';
    out += "\n" + entry_line(at(t));
  }
  return out + "\n]}\n";
}

Result<void> FlightRecorder::write_dump(const std::filesystem::path& file, const std::string& reason) const {
  return write_file_atomic(file, dump(reason));
}

}  // namespace fx::engine
