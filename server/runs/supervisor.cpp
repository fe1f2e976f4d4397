#include "server/runs/supervisor.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "server/runs/diagnosis_record.h"
#include "server/runs/outcome.h"
#include "server/runs/preparation.h"
#include "server/runs/programs.h"
#include "server/runs/run_store.h"
#include "spec/run_spec.h"

namespace fx::server {
namespace {

using tools::RunState;

constexpr std::size_t kEventTail = 256 << 10;
constexpr std::int64_t kRecordMillis = 600'000;  // how long recording the end is tried (full disk, locked database)

// A signal handler can reach nothing else.
volatile sig_atomic_t stop_signalled = 0;

void install_handlers() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_signalled = 1; };
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
}

bool stop_asked() {
  return stop_signalled != 0;
}

void pause_ms(int millis) {
  std::this_thread::sleep_for(std::chrono::milliseconds(millis));
}

class Supervisor {
 public:
  Supervisor(std::filesystem::path folder, RunStore store)
      : folder_(std::move(folder)), id_(folder_.filename().string()), store_(std::move(store)), log_(folder_) {}

  int run() {
    const auto claimed = store_.claim(id_, ::getpid(), process_birth(::getpid()), supervisor_alive);
    if (!claimed || !*claimed) {
      log_.line(claimed ? "another supervisor has this run, or it has ended" : to_line(claimed.error()));
      return claimed ? 0 : 70;
    }
    log_.line("pid " + std::to_string(::getpid()) + " watches " + id_);
    return record(live()) ? 0 : 70;
  }

 private:
  static Outcome failed(const Error& error) { return {RunState::kFailed, to_line(error)}; }

  Outcome live() {
    if (!wait_for_turn()) return {RunState::kStopped, "stopped on request while it was queued"};
    const auto text = read_file(folder_ / tools::kSpecFile);
    if (!text) return failed(text.error());
    const auto parsed = parse_run_spec_text(*text);
    if (!parsed) return failed(parsed.error());
    ranks_ = static_cast<int>(parsed->spec.ranks);
    const auto engine = find_engine();
    if (!engine) return failed(engine.error());
    const auto spec_file = prepare_run(folder_, parsed->spec, log_, stop_asked);
    if (stop_asked()) return {RunState::kStopped, "stopped on request before training began"};
    if (!spec_file) return failed(spec_file.error());
    auto group = RankGroup::start({folder_, *engine, *spec_file, ranks_}, log_);
    if (!group) return failed(group.error());
    watch(*group);
    const auto events = tools::read_run_events(folder_, kEventTail);
    return judge(group->ends(), stop_asked(), events, reported_errors(folder_, events, ranks_));
  }

  // False: a stop was asked for first.
  bool wait_for_turn() {
    for (bool told = false;; pause_ms(100)) {
      const auto run = store_.get(id_);
      if (stop_asked() || (run && run->stop_requested)) return false;
      const auto begun = store_.begin_if_its_turn(id_, supervisor_alive);
      if (begun && *begun) return true;
      if (!told) log_.line(begun ? "waits: another run has this machine" : "waits: " + to_line(begun.error()));
      told = true;
    }
  }

  void watch(RankGroup& group) {
    while (true) {
      const std::int64_t now = monotonic_millis();
      group.poll(now);
      if (stop_asked()) group.note_stop(now);
      switch (next_action(group.seen(), now)) {
        case EndAction::kDone:
          return;
        case EndAction::kTerminate:
          group.terminate(group.seen().first_death ? "another rank died" : "a stop was asked for");
          break;
        case EndAction::kKill:
          group.kill(group.seen().first_death ? "another rank died" : "its time to end is over");
          break;
        case EndAction::kWait:
          break;
      }
      pause_ms(20);
    }
  }

  bool record(const Outcome& outcome) {
    log_.line("the run " + std::string(outcome.state == RunState::kFailed ? "has " : "is ") +
              std::string(to_string(outcome.state)) + (outcome.reason.empty() ? "" : ": " + outcome.reason));
    const std::string diagnosis = outcome.state == RunState::kFailed ? record_diagnosis(folder_, ranks_) : "";
    const std::int64_t until = monotonic_millis() + kRecordMillis;
    while (true) {
      const auto done = store_.finish(id_, outcome.state, outcome.reason, diagnosis);
      if (done) return true;
      if (monotonic_millis() > until) {
        log_.line("cannot record the end: " + to_line(done.error()));
        return false;
      }
      pause_ms(1000);
    }
  }

  std::filesystem::path folder_;
  std::string id_;
  RunStore store_;
  SupervisorLog log_;
  int ranks_ = 0;
};

}  // namespace

int supervise(const std::filesystem::path& run_folder) {
  install_handlers();
  const auto folder = std::filesystem::absolute(run_folder).lexically_normal();
  auto store = RunStore::open(folder.parent_path().parent_path() / "state.db");
  if (!store) {
    SupervisorLog(folder).line("cannot open the run store: " + to_line(store.error()));
    return 70;
  }
  return Supervisor(folder, std::move(*store)).run();
}

}  // namespace fx::server
