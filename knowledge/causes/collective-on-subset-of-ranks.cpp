#include <algorithm>
#include <map>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/host_memory.h"
#include "knowledge/causes/stall.h"

namespace fx::knowledge {
namespace {

// Ranks that a recorder shows in a save or gather while others compute, with their lines.
std::map<int, int> recorded_savers(const Scene& s) {
  std::map<int, int> savers;
  bool others = false;
  for (const auto& row : s.running) {
    if (row.state == "completed" || row.frames.empty()) continue;
    if (matches_any("save|state_dict|full_tensor|checkpoint|summon|consolidat|push_to_hub|evaluat", row.frames)) {
      savers.emplace(row.rank, row.line);
    } else {
      others = true;
    }
  }
  return others ? savers : std::map<int, int>{};
}

// Some ranks found a checkpoint and load it, others found none: they take different branches.
void resume_apart(const Scene& s, const MarkView& m, int stalled, Claim& out) {
  std::set<int> found, none;
  std::vector<int> lines;
  for (const int line : m("resume").lines) {
    const auto& row = s.book.at(line);
    if (row.rank < 0 || behind(s.book, line, stalled) || matches_any("watchdog|error|file \"", row.low)) continue;
    const bool absent = matches_any("no checkpoint|not found|fresh|scratch|does not exist|nothing to resume", row.low);
    if (!absent && !matches_any("load|resum|found|restor", row.low)) continue;
    (absent ? none : found).insert(row.rank);
    lines.push_back(line);
  }
  if (found.empty() || none.empty()) return;
  out.score = std::max(out.score, 0.92);
  for (std::size_t i = 0; i < lines.size() && i < 4; ++i) out.show(lines[i]);
}

// A rank names the collective that it calls: "sampler: all_reduce(counts)".
bool names_call(const Scene& s, int line) {
  const auto& row = s.book.at(line);
  return row.rank >= 0 && !s.in_traceback(line) && row.low.find("->") == std::string::npos &&
         !matches_any("watchdog|error|file \"|optype", row.low) &&
         matches_any(": all_reduce(|: all_gather(|: barrier(|: broadcast(|: reduce(", row.low);
}

// Some ranks say that they go into a collective call where others say that they return.
void branches_apart(const Scene& s, const MarkView& m, int stalled, Claim& out) {
  std::vector<int> entering, leaving;
  for (const int line : m("decision").lines) {
    const auto& low = s.book.at(line).low;
    if (behind(s.book, line, stalled)) continue;
    if (matches_any(
            "-> return|-> exit|-> skip|-> leave|-> continue|skip gather|skip the gather|skips the gather|skipping gather|skip barrier|skip the barrier|skip all_|skip reduce|skip broadcast|skip sync|not main*return|not rank 0*return|not the main*return|not master*return|not main*exit|not rank 0*exit",
            low))
      leaving.push_back(line);
    if (names_call(s, line)) entering.push_back(line);
    if (matches_any(
            "-> *all_reduce|-> *all_gather|-> *state_dict|-> *gather(|-> *barrier|-> *broadcast|-> *gather_object(|-> *all_to_all|-> *reduce(",
            low))
      entering.push_back(line);
  }
  const auto outside = s.book.ranks_of(leaving);
  auto inside = s.book.ranks_of(entering);
  // Who is not the main rank leaves, and whoever stays waits in vain.
  const bool by_rank = std::any_of(leaving.begin(), leaving.end(), [&](int line) {
    return matches_any("not main|not rank 0|not the main|not master", s.book.at(line).low);
  });
  if (inside.empty() && by_rank) inside = s.desync.timed_out;
  const bool both = std::any_of(inside.begin(), inside.end(), [&](int rank) { return outside.count(rank) > 0; });
  if (inside.empty() || leaving.empty() || both) return;
  out.score = std::max(out.score, 0.93);
  for (const auto* lines : {&entering, &leaving}) {
    for (std::size_t i = 0; i < lines->size() && i < 2; ++i) out.show((*lines)[i]);
  }
  if (inside.size() == 1) out.root(*inside.begin());
}

// Ranks print the same thing, empty on some: what is reduced for each of its keys is reduced on the others only.
void empty_apart(const Scene& s, const MarkView& m, int stalled, Claim& out) {
  for (const int line : m("empty").lines) {
    const auto body = s.book.at(line).low_body();
    const auto bare = body.substr(0, body.size() < 2 ? 0 : body.size() - 2);
    if (behind(s.book, line, stalled) || s.book.at(line).rank < 0 || bare.size() < 12 ||
        (body.back() != '}' && body.back() != ']'))
      continue;
    for (int other = std::max(0, line - 16); other < line + 16 && other < static_cast<int>(s.book.lines.size());
         ++other) {
      const auto& row = s.book.at(other);
      if (row.rank < 0 || row.rank == s.book.at(line).rank || row.low_body().substr(0, bare.size()) != bare ||
          row.low_body().size() < body.size() + 4)
        continue;
      out.score = std::max(out.score, 0.88);
      out.show(other).show(line);
      if (out.root_rank.value_or(row.rank) == row.rank) out.root(row.rank);
      return;
    }
  }
}

// Some ranks say that they end by a decision of their own while others say that they go on, and only those wait in
// vain.
void stopped_apart(const Scene& s, const MarkView& m, const Stall& stall, Claim& out) {
  std::vector<int> ending, going;
  for (const int line : m("decision").lines) {
    if (line < stall.first &&
        matches_any("early stop|patience|should_stop=true|should_stop: true|stop flag|converged|-> stop",
                    s.book.at(line).low))
      ending.push_back(line);
  }
  const auto ended = s.book.ranks_of(ending);
  for (const auto* name : {"move", "step"}) {
    for (const int line : s.book.find("core", name).lines) {
      const int rank = s.book.at(line).rank;
      if (rank >= 0 && line < stall.first && ended.count(rank) == 0 && !ending.empty() && line > ending.front() - 4)
        going.push_back(line);
    }
  }
  const bool waits =
      std::any_of(ended.begin(), ended.end(), [&](int rank) { return s.desync.timed_out.count(rank) > 0; });
  if (ended.empty() || going.empty() || waits || s.desync.timed_out.empty()) return;
  out.score = std::max(out.score, 0.9);
  out.show(ending.front()).show(going.front()).show(ending.back());
  if (ended.size() == 1) out.root(*ended.begin());
}

// A rank whose collective met another one of the others was in a save or an evaluation when it raised.
void called_apart(const Scene& s, Claim& out) {
  for (const auto& exception : s.exceptions) {
    if (!matches_any("mismatch between collectives|collectives differ", exception.message)) continue;
    const auto inside = std::find_if(exception.frames.begin(), exception.frames.end(), [&](int frame) {
      return matches_any("save|state_dict|full_tensor|checkpoint|summon|consolidat|push_to_hub|evaluat",
                         s.book.at(frame).low_body()) &&
             !matches_any("site-packages/torch/", s.book.at(frame).low_body());
    });
    if (inside == exception.frames.end()) continue;
    out.score = std::max(out.score, 0.92);
    out.show(exception.line).show(*inside);
    for (const int line : s.book.lines_matching("not rank 0|rank != 0|not main process|return|skip", 4)) {
      if (!s.in_traceback(line) && s.book.at(line).rank >= 0) out.show(line);
    }
    const bool by_main = std::any_of(exception.frames.begin(), exception.frames.end(), [&](int frame) {
      return matches_any("main_proc|main_process|rank_zero|rank_0_only", s.book.at(frame).low);
    });
    const auto raised = s.book.ranks_of({exception.line});
    if (raised.empty() && by_main) out.root(0);
    if (raised.size() == 1) out.root(*raised.begin());
    return;
  }
}

// What ranks say of one file: there for some, not for others.
void found_apart(const Scene& s, const MarkView& m, Claim& out) {
  const auto& branch = m("file_branch").lines;
  const auto sides = differing_counts(s.book, branch);
  if (sides.odd.size() == 1) out.root(*sides.odd.begin());
  if (!sides.lines.empty() || s.book.ranks_of(branch).size() >= 2) out.score = sides.lines.empty() ? 0.78 : 0.85;
  for (const int line : sides.lines) {
    if (out.lines.size() < 4) out.show(line);
  }
  for (const int line : branch) {
    if (out.score > 0 && out.lines.size() < 6) out.show(line);
  }
}

// Nothing but the loss of a peer is told: no fault of anybody that would explain why it is gone.
bool only_peers_gone(const Scene& s) {
  const bool raised = std::any_of(s.exceptions.begin(), s.exceptions.end(),
                                  [&](const ExceptionEvent& event) { return !is_echo(s.book.at(event.line).low); });
  const bool killed = std::any_of(s.exits.begin(), s.exits.end(), [](const ProcessExit& exit) {
    return exit.signal != 0 && exit.signal != 6 && exit.signal != 15;
  });
  return !raised && !killed && s.ooms.empty() && judge_host_memory(s).proof.empty();
}

// A rank's peers are gone while it gathers the state: its code goes there for this rank alone, or they said that they
// have no part in it.
Claim left_alone(const Scene& s, const MarkView& m) {
  if (!only_peers_gone(s)) return {};
  std::vector<int> left;
  for (const int line : m("no_part").lines) {
    const bool ends = matches_any("exit|leav|done|finish|return|nothing to save", s.book.at(line).low_body());
    if (ends && !s.in_traceback(line)) left.push_back(line);
  }
  const bool at_the_end = !left.empty() && std::none_of(s.steps.begin(), s.steps.end(), [&](const StepEvent& step) {
    return step.line > left.back() && s.book.earlier(left.back(), step.line);
  });
  const auto& guards = s.book.find("core", "guard").lines;
  for (const auto& exception : s.exceptions) {
    const auto frame_with = [&](const char* pattern) {
      return std::find_if(exception.frames.begin(), exception.frames.end(),
                          [&](int frame) { return matches_any(pattern, s.book.at(frame).low_body()); });
    };
    const auto none = exception.frames.end();
    if (!matches_any("remote process exited|connection closed|connection reset|ncclremoteerror", exception.message) ||
        frame_with("all_gather|allgather|broadcast(|all_reduce|barrier(|_unshard|gather(") == none ||
        frame_with("state_dict|full_tensor|summon|save_model|save_state|save_pretrained") == none)
      continue;
    Claim out;
    for (const int frame : exception.frames) {
      if (std::binary_search(guards.begin(), guards.end(), frame)) out.show(frame);
    }
    out.score = out.lines.empty() ? 0.78 : left.empty() ? 0.88 : 0.93;
    if (out.lines.empty() && !at_the_end) continue;
    for (std::size_t i = 0; i < left.size() && i < 2; ++i) out.show(left[i]);
    return out.show(exception.line).root(s.one_rank({exception.line}));
  }
  return {};
}

std::optional<int> origin(const Stall& stall, const Scene& s) {
  if (stall.savers.size() == 1) return *stall.savers.begin();
  if (const auto guarded = s.book.ranks_of(stall.guards); guarded.size() == 1) return *guarded.begin();
  const bool main_only = std::any_of(stall.guards.begin(), stall.guards.end(), [&](int line) {
    return matches_any("is_main_process|== 0|zero|main_process|is_rank_0|rank0|is_master|rank_zero",
                       s.book.at(line).low);
  });
  return main_only && stall.savers.empty() ? std::optional<int>(0) : std::nullopt;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  if (const auto savers = recorded_savers(s); !savers.empty()) {
    Claim out;
    out.score = 0.92;
    for (const auto& [rank, line] : savers) out.show(line);
    for (const int line : s.desync.lines) out.show(line);
    return out.root(savers.size() == 1 ? std::optional<int>(savers.begin()->first) : std::nullopt);
  }
  const Stall stall = find_stall(s);
  Claim out;
  if (!stall.any) return left_alone(s, m);
  const bool ahead = !s.desync.differing.empty();
  if (!stall.guards.empty()) out.score = 0.93;
  const bool split = !stall.savers.empty() && !stall.movers.empty();
  if (split) {
    // One saver that the others simply wait for is slow, not alone: they must have gone on to other work.
    out.score = std::max(out.score, stall.moves.size() >= 2 || ahead ? 0.91 : 0.8);
  }
  resume_apart(s, m, stall.first, out);
  branches_apart(s, m, stall.first, out);
  stopped_apart(s, m, stall, out);
  empty_apart(s, m, stall.first, out);
  if (out.score == 0) found_apart(s, m, out);
  called_apart(s, out);
  if (out.score == 0) return out;
  if (m("engine") && s.book.mentions("update_weights|weight sync|weight transfer|weight update")) out.score = 0.5;
  for (const int line : stall.guards) out.show(line);
  for (std::size_t i = 0; i < stall.saves.size() && i < 3; ++i) out.show(stall.saves[stall.saves.size() - 1 - i]);
  for (const int line : m("decision").lines) {
    if (s.book.at(line).rank >= 0 && line < stall.first && out.lines.size() < 6) out.show(line);
  }
  for (std::size_t i = 0; i < stall.moves.size() && out.lines.size() < 8; ++i) out.show(stall.moves[i]);
  return out.root_rank ? out : out.root(origin(stall, s));
}

}  // namespace

CauseRule collective_on_subset_of_ranks() {
  return {
      "collective-on-subset-of-ranks",
      {{"file_branch",
        "exists=|is_file=|found=true|found=false|file exists|not found, *training|checkpoint found|no checkpoint|exists: true"
        "|exists: false|os.path.exists|cache hit|cache miss|found cache"},
       {"empty", "{}|[]"},
       {"no_part",
        "is_main=false|is_main: false|main=false|main_process=false|main_process: false|main process: false|not main|not the "
        "main|not rank 0|nothing to save"},
       {"resume", "checkpoint|resum|scratch|fresh start"},
       {"decision",
        ": all_reduce(|: all_gather(|: barrier(|: broadcast(|: reduce(|-> return|skip gather|skip the gather|skips the gather|skipping gather|skip barrier|skip the barrier|skip all_|skip reduce|skip broadcast|skip sync|not main*return|not rank 0*return|not the main*return|not master*return|not main*exit|not rank 0*exit|-> *gather_object(|-> *all_to_all|-> *reduce(|-> exit|-> leave|-> *all_reduce|-> *all_gather|-> *state_dict|-> *gather(|-> *barrier|-> *broadcast|-> stop|-> epoch|-> saving|-> not|-> skip|-> continue|patience|converged|stop flag|early stop|should_stop|should_save"},
       {"engine", "update_weights|weight sync|weight update|weight transfer|vllm|sglang"}},
      evaluate};
}

}  // namespace fx::knowledge
