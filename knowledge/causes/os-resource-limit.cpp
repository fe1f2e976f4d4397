#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  std::vector<int> signs;
  for (const auto* name : {"memlock", "files", "threads"}) {
    for (const int line : m(name).lines) {
      const auto& low = s.book.at(line).low;
      if (matches_any("$ |setting rlimit|unlimited|limits.conf", low) && !matches_any("error|failed|fail", low))
        continue;
      if (name == std::string_view("memlock") && !matches_any("cannot allocate|fail|error|warn|exceed|limit", low))
        continue;
      signs.push_back(line);
    }
  }
  // A refusal beside a kernel limit that is named: RAM itself is not short.
  if (m("maps") && m("refused")) {
    for (const auto* name : {"refused", "maps"}) signs.insert(signs.end(), m(name).lines.begin(), m(name).lines.end());
  }
  Claim out;
  if (signs.empty()) return out;
  out.score = 0.94;
  for (const int line : signs) {
    if (out.lines.size() < 4) out.show(line);
  }
  // The value printed below "ulimit".
  for (const int line : m("limit").lines) {
    out.show(line);
    if (s.book.at(line).low.find("$ ulimit") != std::string::npos) out.show(s.book.below(line));
  }
  std::vector<int> ranked;
  for (const int line : signs) {
    if (s.book.at(line).head.rank >= 0) ranked.push_back(line);
  }
  return out.root(s.one_rank(ranked.empty() ? signs : ranked));
}

}  // namespace

CauseRule os_resource_limit() {
  return {"os-resource-limit",
          {{"memlock",
            "ibv_reg_mr*cannot allocate|reg_mr*cannot allocate memory|ibv_create_cq*cannot allocate"
            "|ibv_create_qp*cannot allocate|ibv_*cannot allocate memory|locked memory|memlock"},
           {"files",
            "too many open files|errno 24|emfile|received 0 items of ancdata|open files*limit"
            "|nofile*exceed"},
           {"threads",
            "can't start new thread|cannot start new thread|pthread_create failed"
            "|pthread_create*resource temporarily unavailable|fork: retry|fork: resource temporarily"
            "|cannot fork|unable to create*thread|libgomp: thread creation failed|pids limit"
            "|errno 11*resource temporarily|blockingioerror*resource temporarily"
            "|no space left*inotify|inotify watch limit"},
           {"maps", "max_map_count|overcommit_memory|commitlimit|threads-max|pid_max|tasksmax"},
           {"refused", "cannot allocate memory|errno 12|resource temporarily unavailable|errno 11"},
           {"limit", "ulimit|rlimit|nofile|pids.max|limits.conf|max user processes"},
           {"free", "mem:|free -"}},
          evaluate};
}

}  // namespace fx::knowledge
