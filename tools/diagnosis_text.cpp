#include "tools/diagnosis_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/text.h"

namespace fx::tools {
namespace {

using knowledge::Scene;

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}
  std::string bold(const std::string& text) const { return wrap("1", text); }
  std::string red(const std::string& text) const { return wrap("31", text); }
  std::string dim(const std::string& text) const { return wrap("2", text); }

 private:
  std::string wrap(const char* code, const std::string& text) const {
    return color_ ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
  }
  bool color_;
};

std::string place_of(const EvidenceLine& line) {
  return (line.log.empty() ? "line " : line.log + ":") + std::to_string(line.line);
}

std::string cause_text(const Cause& cause, bool first, const Painter& paint) {
  std::string out = paint.bold(first ? paint.red(cause.id) : cause.id) + "  (" +
                    std::to_string(std::lround(100 * cause.confidence)) + " % sure";
  if (cause.root_rank) out += ", began on rank " + std::to_string(*cause.root_rank);
  out += ")\n  " + cause.summary + "\n";
  for (const auto& line : cause.evidence) out += "  " + paint.dim(place_of(line)) + "  " + line.text + "\n";
  if (!first) return out;
  out += "  First step: " + cause.first_step + "\n";
  for (const auto& step : cause.next_steps) out += "  Then: " + step + "\n";
  return out;
}

// What one rank was last seen doing, by line.
using Rows = std::map<int, std::map<int, std::string>>;  // rank -> kept line -> text

void add_row(Rows& rows, int rank, int line, std::string text) {
  if (rank >= 0) rows[rank].emplace(line, std::move(text));
}

Rows rows_of(const Scene& scene) {
  Rows rows;
  std::map<int, const knowledge::StepEvent*> last_step;
  for (const auto& step : scene.steps) {
    if (step.step >= 0) last_step[step.rank] = &step;
  }
  for (const auto& [rank, step] : last_step) add_row(rows, rank, step->line, "step " + std::to_string(step->step));
  for (const auto& status : scene.status) {
    std::string text = "had enqueued " + std::to_string(status.enqueued);
    if (status.completed >= 0) text += ", completed " + std::to_string(status.completed);
    add_row(rows, status.rank, status.line, text);
  }
  for (const auto& event : scene.timeouts) {
    std::string text = "waited in vain in " + (event.operation.empty() ? "a collective" : event.operation);
    if (event.sequence >= 0) text += " number " + std::to_string(event.sequence);
    add_row(rows, event.rank, event.line, text);
  }
  for (const auto& oom : scene.ooms) add_row(rows, oom.rank, oom.line, "GPU out of memory");
  for (const auto& exception : scene.exceptions)
    add_row(rows, exception.rank, exception.line, "raised " + exception.type);
  for (const auto& exit : scene.exits) {
    add_row(rows, exit.rank, exit.line,
            exit.signal != 0 ? "ended by signal " + std::to_string(exit.signal)
                             : "left with exit code " + std::to_string(exit.code));
  }
  return rows;
}

std::string timeline(const Scene& scene, std::optional<int> root, const DiagnosisStyle& style, const Painter& paint) {
  const Rows rows = rows_of(scene);
  if (rows.empty()) return {};
  std::string out = "\n" + paint.bold("Rank by rank") + "\n";
  std::size_t shown = 0;
  for (const auto& [rank, events] : rows) {
    const bool is_root = root == rank;
    if (shown >= style.max_ranks && !is_root) continue;
    ++shown;
    std::string line = "  rank " + std::to_string(rank) + ": ";
    std::size_t count = 0;
    for (const auto& [index, text] : events) {
      if (count++ == 6) break;
      if (count > 1) line += "; ";
      line += quote_input(text, 80) + " " + paint.dim("(line " + std::to_string(scene.book.at(index).number) + ")");
    }
    out += (is_root ? paint.red(line + "  <- began here") : line) + "\n";
  }
  if (shown < rows.size()) out += "  and " + std::to_string(rows.size() - shown) + " more ranks\n";
  if (scene.desync.any() && !scene.desync.behind.empty()) {
    out += "  behind the others:";
    std::size_t count = 0;
    for (const int rank : scene.desync.behind) out += count++ < 16 ? " " + std::to_string(rank) : "";
    out += "\n";
  }
  return out;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis, const Scene& scene, const DiagnosisStyle& style) {
  const Painter paint(style.color);
  if (diagnosis.causes.empty()) {
    const bool healthy = diagnosis.verdict == Verdict::kNoFailureFound;
    return paint.bold(healthy ? "No failure found" : "Not applicable") + "\n  " + diagnosis.reason + "\n";
  }
  std::string out;
  for (std::size_t i = 0; i < diagnosis.causes.size() && i < style.max_causes; ++i) {
    if (i == 1) out += "\n" + paint.bold("Less likely") + "\n";
    out += cause_text(diagnosis.causes[i], i == 0, paint);
  }
  return out + timeline(scene, diagnosis.causes.front().root_rank, style, paint);
}

}  // namespace fx::tools
