// The processes of one run's ranks: start, watch, signal. They die with the process that started them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/process.h"
#include "server/runs/end_policy.h"
#include "server/runs/supervisor_log.h"
#include "tools/run_folder.h"

namespace fx::server {

struct RankPlan {
  std::filesystem::path folder;  // of the run
  std::filesystem::path engine;
  std::filesystem::path spec;  // what the ranks read
  int ranks = 1;
};

struct RankEnd {
  int rank = 0;
  pid_t pid = 0;
  ExitStatus status;
  bool by_us = false;  // a signal that the supervisor sent to end it
};

class RankGroup {
 public:
  // All of them, or none and an error. ranks.json is written before it returns.
  static Result<RankGroup> start(const RankPlan& plan, const SupervisorLog& log);

  // Notices which ranks have ended; logs them. now: of the clock that next_action() uses.
  void poll(std::int64_t now);
  void terminate(const std::string& why);
  void kill(const std::string& why);
  void note_stop(std::int64_t now) { seen_.stop_asked = seen_.stop_asked.value_or(now); }

  const RanksSeen& seen() const { return seen_; }
  const std::vector<RankEnd>& ends() const { return ends_; }  // in the order in which they were noticed

 private:
  RankGroup(std::filesystem::path folder, SupervisorLog log) : folder_(std::move(folder)), log_(std::move(log)) {}
  Result<void> start_rank(const RankPlan& plan, int rank, int port);
  void send(int signal, const std::string& why);
  void note_end(const RankEnd& end, std::int64_t now);
  std::filesystem::path folder_;
  SupervisorLog log_;
  std::vector<tools::RankProcess> ranks_;
  std::vector<RankEnd> ends_;
  RanksSeen seen_;
};

// A TCP port of 127.0.0.1 that nobody uses now.
Result<int> free_port();

}  // namespace fx::server
