#include <algorithm>
#include <map>
#include <set>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

bool names_checkpoint(const Scene& s, const ExceptionEvent& exception) {
  return matches_any("checkpoint|ckpt|tmp|staging|step|save|latest|out", s.book.at(exception.line).low) ||
         std::any_of(exception.frames.begin(), exception.frames.end(),
                     [&](int frame) { return matches_any("checkpoint|ckpt|save", s.book.at(frame).low); });
}

// The same rank's lines around an exception rename or delete.
bool moved_close_by(const Scene& s, const ExceptionEvent& exception) {
  for (int i = exception.line - 3; i <= exception.line + 3; ++i) {
    if (i < 0 || i >= static_cast<int>(s.book.lines.size()) || i == exception.line) continue;
    if (s.book.at(i).rank == exception.rank &&
        matches_any("rmtree|os.rename|os.replace|shutil.move|_rotate", s.book.at(i).low))
      return true;
  }
  return false;
}

// The last part of the last path or file name of a line.
std::string_view last_name(std::string_view low) {
  const auto end = low.find_last_not_of(" .)]'\"");
  if (end == std::string_view::npos) return {};
  const auto begin = low.find_last_of(" /'\"[(", end);
  return low.substr(begin == std::string_view::npos ? 0 : begin + 1,
                    end - (begin == std::string_view::npos ? 0 : begin + 1) + 1);
}

// Several ranks announce that they take the same thing away, and what is gone is then missed.
void taken_twice(const Scene& s, const MarkView& m, Claim& out) {
  std::map<std::string, std::vector<int>> same;
  for (const int line : m("taking").lines) {
    if (s.in_traceback(line)) continue;
    const auto body = s.book.at(line).low_body();
    same[std::string(body.substr(body.size() > 24 ? body.size() - 24 : 0))].push_back(line);
  }
  for (const auto& [text, lines] : same) {
    std::set<int> writers;
    for (const int line : lines) writers.insert(s.book.at(line).stream);
    if (writers.size() < 2 || !m("gone")) continue;
    out.score = 0.94;
    for (std::size_t i = 0; i < lines.size() && i < 4; ++i) out.show(lines[i]);
    out.show(m("gone"), 2);
    return;
  }
}

// One writer took a file away that another one then misses.
void missed_by_another(const Scene& s, const MarkView& m, Claim& out) {
  int looked = 0;
  for (const auto& exception : s.exceptions) {
    const auto& missed = s.book.at(exception.line);
    if (!matches_any("no such file", missed.low)) continue;
    if (out.score > 0 || ++looked > 64) return;  // linear, however many are missed
    for (const int line : m("taking").lines) {
      const auto& taken = s.book.at(line);
      const auto name = last_name(taken.low);
      if (s.in_traceback(line) || name.size() < 6 || taken.stream == missed.stream || line > exception.line ||
          missed.low.find(name) == std::string::npos)
        continue;
      out.score = 0.94;
      out.show(exception.line).show(line);
    }
  }
}

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  if (m("stale")) return out;
  missed_by_another(s, m, out);
  taken_twice(s, m, out);
  for (const auto& exception : s.exceptions) {
    const auto& low = s.book.at(exception.line).low;
    if (!matches_any(
            "no such file|parent directory*does not exist|file exists|file already exists|destination path*already exists|directory not empty|fileexistserror|errno 17|errno 39|permission",
            low))
      continue;
    if (!names_checkpoint(s, exception) && m("announced").count == 0) continue;
    const bool close_by = moved_close_by(s, exception);
    // Some ranks write where another one makes the folder.
    const bool early =
        matches_any("parent directory*does not exist|no such file", low) &&
        std::any_of(exception.frames.begin(), exception.frames.end(),
                    [&](int frame) {
                      return matches_any("torch.save|save_checkpoint|save_file(|.save(", s.book.at(frame).low);
                    }) &&
        m("announced");
    const bool moves =
        close_by || early ||
        matches_any("' -> '|directory not empty|file exists|file already exists|fileexists|errno 17|errno 39", low) ||
        std::any_of(exception.frames.begin(), exception.frames.end(), [&](int frame) {
          return matches_any("rename|rmtree|shutil|makedirs|mkdir|os.replace|remove|unlink|rotate",
                             s.book.at(frame).low);
        });
    if (!moves) continue;
    out.score = std::max(out.score, 0.93);
    out.show(exception.line);
    for (const int frame : exception.frames) {
      if (matches_any("rename|rmtree|shutil|makedirs|mkdir|os.replace|remove|unlink|rotate", s.book.at(frame).low))
        out.show(frame);
    }
  }
  if (out.score == 0) return out;
  for (const int line :
       s.book.lines_matching("saving*checkpoint|saving model|removing*checkpoint|deleting*checkpoint|$ ls", 3)) {
    out.show(line);
    if (s.book.at(line).low.find("$ ls") != std::string::npos) out.show(s.book.below(line));
  }
  return out;
}

}  // namespace

CauseRule checkpoint_save_race() {
  return {
      "checkpoint-save-race",
      {{"clash",
        "os.rename|shutil.move|rmtree|shutil|fileexistserror|errno 17|errno 39"
        "|directory not empty|file exists:|os.replace|os.makedirs|os.mkdir|unlink|os.remove"
        "|' -> '|rotate_checkpoints|_rotate"},
       {"gone", "no such file or directory|file exists|directory not empty|errno 17|errno 39|errno 2]"},
       {"taking",
        "removing*checkpoint|deleting*checkpoint|deleted*checkpoint|removed*checkpoint|pruning*checkpoint|cleaning "
        "up*checkpoint|rotating*checkpoint|removing*ckpt|deleting*ckpt|purging|removing old|deleting old|deleting past"},
       {"path", "checkpoint|ckpt|tmp-|staging|step_|global_step|latest"},
       {"stale", "stale file handle"},
       {"announced",
        "checkpoint destination directory*already exists|saved model|saved*to: /|creating*dir|makedirs|deleting*checkpoint|removing*checkpoint|saving*checkpoint|save_total_limit|saving*ckpt"}},
      evaluate};
}

}  // namespace fx::knowledge
