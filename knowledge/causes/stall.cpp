#include "knowledge/causes/stall.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace fx::knowledge {
namespace {

bool is_error_line(std::string_view low) {
  return matches_any("watchdog|processgroup|error:|exception|traceback|file \"|warning", low);
}

// Who freezes parameters does not hang.
bool freezes_weights(std::string_view low) {
  return low.find("freez") != std::string_view::npos &&
         matches_any(
             "--freez|freez*true|freez*false|_freeze|freeze=|freeze:|freez*param|freez*layer|freez*backbone|freez*tower|freez*encoder|"
             "freez*embed|freez*vision|freez*weight|freez*model|freez*module|freez*block|freez*adapter|unfreez|"
             "param*freez|layer*freez",
             low) &&
         !matches_any("hang|stuck|after|deadlock|no output|watchdog", low);
}

// A warning of what might happen is no sign that it did, nor is a count of zero.
bool is_advice(std::string_view low) {
  // What most signs are, thousands of times in a large job.
  if (low.find("watchdog") != std::string_view::npos || low.find("timed out") != std::string_view::npos) return false;
  if (freezes_weights(low)) return true;
  if (matches_any(
          "deadlock-free|no deadlock|no hang|not stuck|0 stuck|stuck: 0|stuck 0|hangs: 0|0 hangs|hang detector|deadlock detect",
          low))
    return true;
  return matches_any(
      "might|may cause|can cause|could cause|may lead|can lead|userwarning|futurewarning|suggested|recommend", low);
}

// Conditions on the rank around something that talks.
void find_guards(const Scene& scene, Stall& out) {
  const auto& book = scene.book;
  for (const int line : book.find("core", "guard").lines) {
    const auto& low = book.at(line).low;
    const int next = book.below(line);
    const char* kAction =
        "save|state_dict|gather|barrier|push_to_hub|reduce|broadcast|eval|summon|full_tensor|checkpoint|sync|generate|"
        "log_metrics|clip_grad|grad norm|forward|metric|sample|predict|validat";
    if (matches_any(kAction, low)) {
      out.guards.push_back(line);
      for (int below = next, left = 3; below >= 0 && left > 0; below = book.below(below), --left) {
        if (matches_any("save|gather|barrier|reduce|full_tensor", book.at(below).low) &&
            book.at(below).low.find('(') != std::string::npos)
          out.guards.push_back(below);
      }
    } else if (next >= 0 && matches_any(kAction, book.at(next).low) && book.at(next).rank == book.at(line).rank) {
      out.guards.insert(out.guards.end(), {line, next});
    }
  }
}

// The last round of announcements: those after the last step that all ranks share.
void find_saves(const Scene& scene, Stall& out) {
  const auto& book = scene.book;
  for (const int line : book.find("core", "save").lines) {
    const auto& low = book.at(line).low;
    if (line > out.first && book.at(line).log == book.at(out.first).log) continue;
    if (is_error_line(low) ||
        matches_any(
            "waiting|waits for|save_interval|save_steps|save_every|save_strategy|save_total|checkpoint_dir|ckpt_dir|save_dir|output_dir|args(|config",
            low) ||
        matches_any("not saving|skip*sav|no improvement|resum|from checkpoint|$ |load_|restor", low) ||
        (matches_any("loading", low) && !matches_any("uploading", low)) ||
        matches_any("activation|gradient checkpoint|gradient_checkpoint|grad_checkpoint|use_reentrant|recompute", low))
      continue;
    if (std::find(out.guards.begin(), out.guards.end(), line) != out.guards.end()) continue;
    out.saves.push_back(line);
  }
  if (out.saves.empty()) return;
  const int last_save = out.saves.back();
  int last_step = -1;
  for (const auto& step : scene.steps) {
    if (step.line < last_save && book.at(step.line).rank <= 0 && !matches_any("sav", book.at(step.line).low))
      last_step = step.line;
  }
  out.saves.erase(std::remove_if(out.saves.begin(), out.saves.end(), [&](int line) { return line < last_step; }),
                  out.saves.end());
  out.savers = book.ranks_of(out.saves);
}

// Between two lines of one log, or among the last ones of another log.
bool meanwhile(const LogBook& book, int line, int from, int to) {
  constexpr long kLast = 8;
  const auto& row = book.at(line);
  if (row.log == book.at(std::max(0, to)).log) return line >= from && line <= to;
  return book.line_counts[static_cast<std::size_t>(row.log)] - row.number <= kLast;
}

// Other ranks that went on meanwhile.
void find_moves(const Scene& scene, Stall& out) {
  const auto& book = scene.book;
  for (const auto* name : {"move", "step"}) {
    for (const int line : book.find("core", name).lines) {
      const auto& low = book.at(line).low;
      const int rank = book.at(line).rank;
      if (!meanwhile(book, line, out.saves.front() - 1, out.first) || rank < 0 || is_error_line(low) ||
          matches_any("barrier(|waiting|in barrier|wait(", low) || out.savers.count(rank) > 0)
        continue;
      out.moves.push_back(line);
      out.movers.insert(rank);
    }
  }
  for (const int line : book.find("core", "move").lines) {
    const int rank = book.at(line).rank;
    const bool said_no = matches_any("not saving|skip*sav|no improvement|leaving|complete|exiting", book.at(line).low);
    if (rank >= 0 && said_no && meanwhile(book, line, out.saves.front() - 7, out.first - 1) &&
        out.movers.insert(rank).second)
      out.moves.push_back(line);
  }
}

}  // namespace

const std::vector<Mark>& stall_marks() {
  static const std::vector<Mark> marks{
      {"stall",
       "watchdog caught collective|detected by watchdog at work|timed out waiting|socket timeout|wait timeout|monitoredbarrier|missing ranks in "
       "monitored barrier|collective*timed out"
       "|received a dump signal|exceeded*timeout|hangs|hanging|hung |stuck|no progress|nothing for|^c|abort is already in progress|no output for|no new output|freez|silent for|never finish|timeout waiting|barrier*timed "
       "out|dump signal|detected mismatch between collectives"
       "|watchdog*timeout|operation timed out|never returns|deadlock"},
      {"save",
       "upload part|uploaded part|snapshot: |snapshot_|assembl|partials|dumping|saving|saved|save_|state dict|state_dict|checkpoint|push_to_hub|pushing to "
       "hub|merging|written|writing|uploading|consolidating|gathering*state|gather*param|consolidat|dist_cp.save|dcp.save|export"},
      {"move",
       "not saving|skip*sav|no improvement|forward|training complete|leaving|start epoch|starting "
       "epoch|continue|next step|exiting|finished training"
       "|enter*step|step *begin|begin step|evaluat|train done|training finished"},
      {"guard",
       "if*is_main_process|if*is_world_process_zero|if*is_global_zero|if*rank ==|if*rank==|if*rank() "
       "==|if*rank()==|rank_zero_only"
       "|if*is_rank_0|if not*rank|if*should_save|if*is_local_main|if*rank0|if*is_master|if*get_rank()|only*rank 0*calls"
       "|called only on rank|rank 0 calls|only on rank|rank 0 only|on rank 0 only|main process only|only*main process|if*is_last|main_process_only|if*is_main|on_main_process|if*rank in|if*rank <"},
  };
  return marks;
}

std::vector<int> stall_signs(const Scene& scene) {
  std::vector<int> out;
  bool told = false;
  for (const int line : scene.book.find("core", "stall").lines) {
    const auto& low = scene.book.at(line).low;
    if (is_advice(low)) continue;
    // Who interrupts a run that steps need not have seen it hang.
    const bool interrupt = low.find("^c") != std::string::npos && scene.stepped_before(line);
    told = told || !interrupt;
    out.push_back(line);
  }
  return told ? out : std::vector<int>{};
}

bool behind(const LogBook& book, int line, int other) {
  return line > other && book.at(line).log == book.at(other).log;
}

Stall find_stall(const Scene& scene) {
  Stall out;
  out.signs = stall_signs(scene);
  for (const auto& row : scene.running) {
    if (row.state == "started" || row.state == "scheduled") out.signs.push_back(row.line);
  }
  out.any = !out.signs.empty();
  if (!out.any) return out;
  out.first = out.signs.front();
  find_guards(scene, out);
  find_saves(scene, out);
  if (out.saves.empty()) return out;
  find_moves(scene, out);
  out.saved_last = std::none_of(scene.steps.begin(), scene.steps.end(), [&](const StepEvent& step) {
    return step.line > out.saves.back() && step.line < out.first;
  });
  return out;
}

namespace {

// The length of "true" or "false" as a value at this place, 0 when there is none.
std::size_t truth_at(std::string_view text, std::size_t at) {
  if (at == 0 || std::string_view(" :=").find(text[at - 1]) == std::string_view::npos) return 0;
  for (const std::string_view word : {"true", "false"}) {
    if (text.substr(at, word.size()) == word) return word.size();
  }
  return 0;
}

struct Counted {
  std::string shape;    // the text with its numbers taken out
  std::string numbers;  // the whole numbers, without the rank's own
};

Counted read_counted(std::string_view text) {
  Counted out;
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t length = truth_at(text, i); length > 0) {
      (out.numbers += text.substr(i, length)) += ' ';
      out.shape += '#';
      break;  // what follows tells what came of it
    }
    if (!digit(i)) {
      out.shape += text[i++];
      continue;
    }
    std::size_t end = i;
    bool whole = true;
    for (; digit(end) || (end < text.size() && text[end] == '.' && digit(end + 1)); ++end) whole = whole && digit(end);
    std::string_view before = text.substr(0, i);
    while (!before.empty() && std::string_view(" :=_").find(before.back()) != std::string_view::npos)
      before.remove_suffix(1);
    const bool rank = before.size() >= 4 && before.substr(before.size() - 4) == "rank";
    if (whole && !rank) (out.numbers += text.substr(i, end - i)) += ' ';
    // A list of numbers is one thing, however long.
    const bool listed = out.shape.size() >= 2 && out.shape.substr(out.shape.size() - 2) == "#,";
    const bool spaced = out.shape.size() >= 3 && out.shape.substr(out.shape.size() - 3) == "#, ";
    if (listed || spaced) {
      out.shape.erase(out.shape.size() - (listed ? 1 : 2));
    } else {
      out.shape += '#';
    }
    i = end;
  }
  return out;
}

}  // namespace

CountSplit differing_counts(const LogBook& book, const std::vector<int>& lines) {
  std::map<std::string, std::map<int, std::pair<std::string, int>>> last;  // shape -> rank -> numbers, line
  for (const int line : lines) {
    if (book.at(line).rank < 0) continue;
    const Counted counted = read_counted(book.at(line).low_body());
    if (!counted.numbers.empty()) last[counted.shape][book.at(line).rank] = {counted.numbers, line};
  }
  CountSplit out;
  for (const auto& [shape, ranks] : last) {
    std::map<std::string, std::vector<int>> groups;
    for (const auto& [rank, row] : ranks) groups[row.first].push_back(rank);
    if (groups.size() < 2) continue;
    std::vector<std::vector<int>> sides;
    for (const auto& [numbers, members] : groups) sides.push_back(members);
    std::stable_sort(sides.begin(), sides.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    for (const auto& side : sides) {
      for (const int rank : side) out.lines.push_back(ranks.at(rank).second);
    }
    if (sides[sides.size() - 2].size() == sides.back().size()) return out;
    for (std::size_t i = 0; i + 1 < sides.size(); ++i) out.odd.insert(sides[i].begin(), sides[i].end());
    return out;
  }
  return out;
}

}  // namespace fx::knowledge
