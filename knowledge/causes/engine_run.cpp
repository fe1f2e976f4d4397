#include "knowledge/causes/engine_run.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "knowledge/causes/host_memory.h"
#include "knowledge/log/field_reader.h"
#include "spec/event.h"

namespace fx::knowledge {
namespace {

struct Failure {
  int line = 0;
  ErrorEvent event;
};

// Where a rank stood when it failed or was asked to end.
struct Standing {
  int line = 0;
  long long enqueued = -1;
  std::string phase;    // "forward, layer 3"
  std::string seconds;  // for how long
};

struct EngineRun {
  std::vector<Failure> own;      // ranks that failed by themselves
  std::vector<Failure> waiting;  // ranks that failed in a collective: they tell of another one
  std::map<int, Standing> standing;
  std::set<int> ranks;
};

std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  return std::string(text.substr(0, text.find(after)));
}

// The same event lies in the rank's log and in the event file: the first one counts.
void add_failure(const LogBook& book, int index, EngineRun& run) {
  auto event = parse_event(book.at(index).text);
  if (!event) return;
  const auto* error = std::get_if<ErrorEvent>(&event->body);
  if (error == nullptr || error->rank < 0) return;
  if (matches_any("failed on rank|another rank's", to_lower(error->what))) return;  // an echo of the rank that failed
  auto& list = error->collective.empty() ? run.own : run.waiting;
  const bool known = std::any_of(list.begin(), list.end(), [&](const Failure& other) {
    return other.event.rank == error->rank && other.event.what == error->what;
  });
  if (!known) list.push_back({index, *error});
}

EngineRun read_engine_run(const Scene& s) {
  EngineRun run;
  for (const int line : s.book.find("core", "engine_error").lines) add_failure(s.book, line, run);
  for (const auto& status : s.status) {
    const auto& text = s.book.at(status.line).text;
    if (text.find("in phase \"") == std::string::npos || run.standing.contains(status.rank)) continue;
    run.standing[status.rank] = {status.line, status.enqueued, between(text, "in phase \"", "\""),
                                 between(text, "\" for ", " s")};
  }
  for (const int line : s.book.find("core", "engine_groups").lines) {
    const std::string list = between(s.book.at(line).text, "\"ranks\":\"[", "]");
    for (const long long rank : integers_in(replace_all(list, ",", " "))) run.ranks.insert(static_cast<int>(rank));
  }
  for (int rank = 0; rank < std::min(s.world, 100000); ++rank) run.ranks.insert(rank);
  run.ranks.insert(s.ranks.begin(), s.ranks.end());
  return run;
}

std::string name_ranks(const std::set<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) {
    if (names.size() < 8) names.push_back(std::to_string(rank));
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ") + (ranks.size() > 8 ? ", ..." : "");
}

// "ranks 0, 2 were in all_gather #33 (layer 2) with it"; empty when nobody waited.
std::string who_waited(const EngineRun& run) {
  if (run.waiting.empty()) return {};
  const auto& first = run.waiting.front().event;
  std::set<int> ranks;
  for (const auto& failure : run.waiting) {
    if (failure.event.sequence == first.sequence) ranks.insert(static_cast<int>(failure.event.rank));
  }
  return name_ranks(ranks) + (ranks.size() == 1 ? " was in " : " were in ") + first.collective + " #" +
         std::to_string(first.sequence) + " (" + quote_input(first.where, 60) + ")";
}

void show_waiting(const EngineRun& run, Claim& claim) {
  for (std::size_t i = 0; i < run.waiting.size() && i < 3; ++i) claim.show(run.waiting[i].line);
}

std::optional<EngineVerdict> judge_killed(const Scene& s, const EngineRun& run) {
  const auto killed = std::find_if(s.exits.begin(), s.exits.end(), [](const ProcessExit& exit) {
    return exit.rank >= 0 && exit.signal != 0 && exit.signal != 15 && exit.signal != 2;
  });
  if (killed == s.exits.end() || !judge_host_memory(s).proof.empty()) return std::nullopt;
  EngineVerdict out{killed->signal == 9 ? "rank-killed" : "single-rank-exception", {}, false};
  out.claim.score = 0.92;
  out.claim.show(killed->line).root(killed->rank);
  show_waiting(run, out.claim);
  const std::string rank = "Rank " + std::to_string(killed->rank);
  const std::string what = killed->signal == 9 ? " was ended from outside (SIGKILL)"
                                               : " crashed with signal " + std::to_string(killed->signal);
  const std::string others = who_waited(run);
  out.claim.say(rank + what + (others.empty() ? "." : "; " + others + " and lost it there."));
  return out;
}

std::optional<EngineVerdict> judge_own_error(const Scene&, const EngineRun& run) {
  std::set<long long> ranks;
  for (const auto& failure : run.own) ranks.insert(failure.event.rank);
  if (ranks.size() != 1) return std::nullopt;
  const ErrorEvent& error = run.own.front().event;
  // Another cause may know this error by its text and then weighs more.
  EngineVerdict out{"single-rank-exception", {}, false};
  out.claim.score = 0.86;
  out.claim.show(run.own.front().line).root(static_cast<int>(error.rank));
  show_waiting(run, out.claim);
  const std::string place = error.where.empty() ? "" : " in \"" + quote_input(error.where, 60) + "\"";
  const std::string others = who_waited(run);
  out.claim.say("Rank " + std::to_string(error.rank) + " failed by itself" + place + ": " +
                quote_input(error.what, 160) + (others.empty() ? "." : "; " + others + " and lost it there."));
  return out;
}

// The calls of one group: sequence -> rank -> row.
using Calls = std::map<long long, std::map<int, const RunningCollective*>>;

bool same_call(const RunningCollective& a, const RunningCollective& b) {
  return a.operation == b.operation && a.stage == b.stage && a.shape == b.shape;
}

std::string call_text(const RunningCollective& row) {
  return to_lower(row.operation.substr(row.operation.find(':') + 1)) + " (" + quote_input(row.stage, 60) + ")";
}

// How many calls later `rank` makes the call that the other one makes at `sequence`; a large number when it never does.
long long distance(const Calls& calls, long long sequence, int rank, const RunningCollective& call) {
  for (auto at = calls.find(sequence); at != calls.end(); ++at) {
    const auto row = at->second.find(rank);
    if (row != at->second.end() && same_call(*row->second, call)) return at->first - sequence;
  }
  return 1'000'000'000;
}

// Of the ranks that part at one number, the one that left the common order: the odd one; among two, the one whose call
// the other makes sooner, because it has left out what the other does first.
int odd_rank(const Calls& calls, long long sequence) {
  const auto& row = calls.at(sequence);
  for (const auto& [rank, call] : row) {
    std::size_t alike = 0;
    for (const auto& [other, theirs] : row) alike += same_call(*call, *theirs) ? 1 : 0;
    if (alike == 1 && row.size() > 2) return rank;
  }
  if (row.size() != 2) return -1;
  const auto& [a, call_a] = *row.begin();
  const auto& [b, call_b] = *row.rbegin();
  const long long a_later = distance(calls, sequence, a, *call_b), b_later = distance(calls, sequence, b, *call_a);
  if (a_later == b_later) return -1;
  return b_later < a_later ? a : b;
}

// At the end of a step the sums of losses and norms are exchanged; everything else belongs to a micro-batch.
bool ends_step(const RunningCollective& call) {
  return call.operation.find("ALL_REDUCE") != std::string::npos;
}

std::optional<EngineVerdict> judge_order(const Scene& s, const EngineRun&) {
  std::map<std::string, Calls> groups;
  for (const auto& row : s.running) {
    if (!row.stage.empty() && row.rank >= 0) groups[row.group][row.sequence].emplace(row.rank, &row);
  }
  for (const auto& [group, calls] : groups) {
    for (const auto& [sequence, row] : calls) {
      const RunningCollective& first = *row.begin()->second;
      if (std::all_of(row.begin(), row.end(), [&](const auto& of) { return same_call(*of.second, first); })) continue;
      const int odd = odd_rank(calls, sequence);
      const auto& theirs =
          *std::find_if(row.begin(), row.end(), [&, o = odd](const auto& of) { return of.first != o; });
      const auto& mine = odd >= 0 ? *row.at(odd) : *row.rbegin()->second;
      const bool uneven = ends_step(mine) != ends_step(*theirs.second);
      EngineVerdict out{uneven ? "uneven-data-across-ranks" : "conditional-forward-desync", {}, true};
      out.claim.score = odd >= 0 ? 0.94 : 0.82;
      out.claim.show(mine.line).show(theirs.second->line);
      if (odd >= 0) out.claim.root(odd);
      out.claim.say((odd >= 0 ? "Rank " + std::to_string(odd) + " left" : "The ranks left") +
                    " the common order at collective #" + std::to_string(sequence) + ": it called " + call_text(mine) +
                    " where rank " + std::to_string(theirs.first) + " called " + call_text(*theirs.second) + ".");
      return out;
    }
  }
  return std::nullopt;
}

// Some ranks waited in vain for the one that has nothing to report, or is behind.
std::optional<EngineVerdict> judge_stillness(const Scene&, const EngineRun& run) {
  if (run.waiting.empty()) return std::nullopt;
  std::set<int> missing = run.ranks;
  long long most = -1;
  for (const auto& failure : run.waiting) {
    missing.erase(static_cast<int>(failure.event.rank));
    most = std::max(most, failure.event.sequence);
  }
  std::erase_if(missing, [&](int rank) {
    const auto found = run.standing.find(rank);
    return found != run.standing.end() && found->second.enqueued >= most;
  });
  if (missing.size() != 1) return std::nullopt;
  const int rank = *missing.begin();
  const auto found = run.standing.find(rank);
  const Standing standing = found == run.standing.end() ? Standing{-1, -1, "", ""} : found->second;
  const bool timed_out = matches_any("timed out|timeout", to_lower(run.waiting.front().event.what));
  EngineVerdict out{"nccl-timeout-undetermined", {}, true};
  if (standing.phase == "data") out.cause = "slow-preprocessing-timeout";
  if (standing.phase == "checkpoint" || standing.phase == "saving the model") out.cause = "slow-checkpoint-timeout";
  out.claim.score = timed_out ? 0.9 : 0.7;
  out.claim.show(standing.line).root(rank);
  show_waiting(run, out.claim);
  out.claim.say("Rank " + std::to_string(rank) +
                (standing.line >= 0 ? " stood in \"" + quote_input(standing.phase, 60) + "\" for " +
                                          quote_input(standing.seconds, 12) + " s while "
                                    : " said nothing more while ") +
                who_waited(run) + (timed_out ? " until the timeout." : " and lost it."));
  return out;
}

}  // namespace

const std::vector<Mark>& engine_run_marks() {
  static const std::vector<Mark> marks{
      {"engine_error", "\"event\":\"error\"*\"rank\"*\"where\""},
      {"engine_groups", "\"pg_config\":*\"ranks\":\"["},
  };
  return marks;
}

std::optional<EngineVerdict> judge_engine_run(const Scene& scene) {
  const EngineRun run = read_engine_run(scene);
  if (run.own.empty() && run.waiting.empty()) return std::nullopt;
  for (auto* judge : {judge_killed, judge_own_error, judge_order, judge_stillness}) {
    if (auto verdict = judge(scene, run)) return verdict;
  }
  return std::nullopt;
}

}  // namespace fx::knowledge
