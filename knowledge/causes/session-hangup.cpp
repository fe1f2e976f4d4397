#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  if (!m("hup")) return {};
  std::vector<int> signs;
  for (const int line : m("hup").lines) {
    if (matches_any("ignored|ignoring|ignores", s.book.at(line).low)) continue;
    // "got signal: 15" begins like "got signal: 1".
    if (matches_any("sighup|hangup|received 1 death", s.book.at(line).low) ||
        s.book.at(line).low.find("signal: 1") + 9 == s.book.at(line).low.size() ||
        matches_any("signal 1 |death signal 1", s.book.at(line).low)) {
      signs.push_back(line);
    }
  }
  Claim out;
  if (signs.empty()) return out;
  const bool named = s.book.mentions("sighup|hangup|got signal: 1");
  out.score = m("scheduler") ? 0.4 : named ? 0.95 : 0.4;
  for (const int line : signs) {
    if (out.lines.size() < 6) out.show(line);
  }
  return out.show(m("start"), 1);
}

}  // namespace

CauseRule session_hangup() {
  return {"session-hangup",
          {{"hup", "sighup|got signal: 1|signal 1 |signal: 1|received 1 death signal|hangup|death signal 1"},
           {"start", "nohup|tmux|screen -|ssh |disown|setsid|vscode|jupyter"},
           {"scheduler", "cancelled at|due to time limit|preempt|requeue"}},
          evaluate};
}

}  // namespace fx::knowledge
