#include "server/runs/rank_group.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace fx::server {

Result<int> free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool found = socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int code = errno;
  if (socket >= 0) ::close(socket);
  if (!found) return unavailable(std::string("no free port on 127.0.0.1: ") + std::strerror(code));
  return static_cast<int>(ntohs(address.sin_port));
}

Result<RankGroup> RankGroup::start(const RankPlan& plan, const SupervisorLog& log) {
  const auto port = free_port();
  if (!port) return port.error();
  RankGroup group(plan.folder, log);
  for (int rank = 0; rank < plan.ranks; ++rank) {
    auto started = group.start_rank(plan, rank, *port);
    if (started && rank + 1 == plan.ranks) started = tools::write_ranks(plan.folder, group.ranks_);
    if (!started) {
      group.kill("rank " + std::to_string(rank) + " could not be started");
      for (const auto& process : group.ranks_) wait_process(static_cast<pid_t>(process.pid));
      return started.error();
    }
  }
  return group;
}

Result<void> RankGroup::start_rank(const RankPlan& plan, int rank, int port) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned threads = std::max(1U, cores / static_cast<unsigned>(plan.ranks));
  ProcessSpec spec;
  spec.command = {plan.engine.string(), "train", plan.spec.string()};
  spec.extra_environment = {{"RANK", std::to_string(rank)},
                            {"LOCAL_RANK", std::to_string(rank)},
                            {"WORLD_SIZE", std::to_string(plan.ranks)},
                            {"LOCAL_WORLD_SIZE", std::to_string(plan.ranks)},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", std::to_string(port)},
                            {"OMP_NUM_THREADS", std::to_string(threads)},
                            {"FX_EVENTS", (plan.folder / tools::kEventsFile).string()}};
  spec.output = plan.folder / tools::rank_log_name(rank);
  spec.dies_with_parent = true;
  const auto pid = start_process(spec);
  if (!pid) return pid.error();
  ranks_.push_back({rank, *pid, process_birth(*pid), {}});
  ++seen_.running;
  log_.line("rank " + std::to_string(rank) + " (pid " + std::to_string(*pid) + ") started, " + std::to_string(threads) +
            " thread(s), meeting at 127.0.0.1:" + std::to_string(port));
  return {};
}

void RankGroup::poll(std::int64_t now) {
  std::vector<RankEnd> fresh;
  for (auto& rank : ranks_) {
    if (!rank.ending.empty()) continue;
    const auto pid = static_cast<pid_t>(rank.pid);
    const auto status = poll_process(pid);
    if (!status) continue;
    const bool by_us = (seen_.kill_sent && status->signal == SIGKILL) || (seen_.term_sent && status->signal == SIGTERM);
    rank.ending = describe(*status);
    fresh.push_back({rank.rank, pid, *status, by_us});
  }
  if (fresh.empty()) return;
  // Noticed at once, but a rank that was killed did not end because of the others; it may well be the other way round.
  std::stable_sort(fresh.begin(), fresh.end(),
                   [](const RankEnd& a, const RankEnd& b) { return a.status.signal && !b.status.signal; });
  for (const auto& end : fresh) note_end(end, now);
  const auto written = tools::write_ranks(folder_, ranks_);
  if (!written) log_.line("cannot write ranks.json: " + to_line(written.error()));
}

void RankGroup::note_end(const RankEnd& end, std::int64_t now) {
  --seen_.running;
  if (end.status.ok()) {
    seen_.first_leaving = seen_.first_leaving.value_or(now);
  } else {
    seen_.first_death = seen_.first_death.value_or(now);
  }
  const std::string who = "rank " + std::to_string(end.rank) + " (pid " + std::to_string(end.pid) + ") ";
  log_.line(who + (end.by_us ? "is gone" : describe(end.status)));
  ends_.push_back(end);
}

void RankGroup::send(int signal, const std::string& why) {
  for (const auto& rank : ranks_) {
    if (!rank.ending.empty()) continue;
    log_.line(std::string(signal == SIGKILL ? "ending" : "asking to end:") + " rank " + std::to_string(rank.rank) +
              ": " + why);
    signal_group(static_cast<pid_t>(rank.pid), signal);
  }
}

void RankGroup::terminate(const std::string& why) {
  seen_.term_sent = true;
  send(SIGTERM, why);
}

void RankGroup::kill(const std::string& why) {
  seen_.kill_sent = true;
  send(SIGKILL, why);
}

}  // namespace fx::server
