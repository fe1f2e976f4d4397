#include "knowledge/log/desync.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace fx::knowledge {
namespace {

struct Row {
  int line = 0;
  int rank = -1;
  std::string what;
  bool whole = true;  // false: the line breaks off, so that it does not compare
};
using Place = std::pair<std::string, long long>;  // process group and sequence number

// Sizes of an all-to-all may differ from rank to rank.
std::string what_of(const std::string& operation, const std::string& sizes) {
  return operation.find("ALLTOALL") != std::string::npos || operation.find("ALL_TO_ALL") != std::string::npos
             ? operation
             : operation + "/" + sizes;
}

// Among rows of one sequence number: the ranks outside the largest equal group.
void compare_rows(const std::map<Place, std::vector<Row>>& by_place, Desync& out) {
  for (const auto& [place, rows] : by_place) {
    std::map<std::string, std::set<int>> sides;
    for (const auto& row : rows) {
      if (row.whole) sides[row.what].insert(row.rank);
    }
    if (sides.size() < 2) continue;
    const auto largest = std::max_element(
        sides.begin(), sides.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    for (const auto& [what, ranks] : sides) {
      if (what == largest->first) continue;
      if (ranks.size() == largest->second.size()) out.sides_equal = true;
      out.differing.insert(ranks.begin(), ranks.end());
    }
    out.sequence = place.second;
    for (const auto& row : rows) {
      if (out.differing.count(row.rank) > 0) out.lines.push_back(row.line);
    }
    for (const auto& row : rows) {
      if (out.differing.count(row.rank) == 0 && out.lines.size() < 6) out.lines.push_back(row.line);
    }
    return;  // the first number where they part is the telling one
  }
}

// The watchdog's own line names no process group: the rank's status line for the same number does, or there is only
// one.
std::vector<CollectiveTimeout> with_groups(std::vector<CollectiveTimeout> timeouts,
                                           const std::vector<WorkStatus>& status) {
  std::set<std::string> groups;
  for (const auto& row : status) groups.insert(row.group);
  for (auto& timeout : timeouts) {
    if (!timeout.group.empty()) continue;
    if (groups.size() == 1) timeout.group = *groups.begin();
    for (const auto& row : status) {
      if (row.rank == timeout.rank && row.failed >= 0 && row.failed == timeout.sequence) timeout.group = row.group;
    }
  }
  return timeouts;
}

// A rank that timed out at number N of a group had enqueued N.
std::vector<WorkStatus> with_timeouts(std::vector<WorkStatus> status, const std::vector<CollectiveTimeout>& timeouts) {
  if (status.empty()) return status;
  for (const auto& row : timeouts) {
    if (row.rank >= 0 && row.sequence >= 0 && !row.group.empty())
      status.push_back({row.line, row.rank, row.group, row.sequence, -1, row.sequence});
  }
  return status;
}

void find_behind_by_status(const std::vector<WorkStatus>& status, Desync& out) {
  std::map<std::string, std::map<int, const WorkStatus*>> groups;
  for (const auto& row : status) {
    auto& newest = groups[row.group][row.rank];
    if (newest == nullptr || row.enqueued > newest->enqueued) newest = &row;
  }
  for (const auto& [group, ranks] : groups) {
    // Ranks run ahead of the device by a few calls: only who had not come to the number where the others hang is
    // behind.
    long long most = -1, hung = -1;
    for (const auto& [rank, row] : ranks) most = std::max(most, row->enqueued), hung = std::max(hung, row->failed);
    if (hung >= 0) most = std::min(most, hung);
    for (const auto& [rank, row] : ranks) {
      if (row->enqueued < 0 || row->enqueued >= most) continue;
      out.behind.insert(rank);
      out.lines.push_back(row->line);
      out.sequence = most;
    }
  }
}

void find_behind_by_timeout(const std::vector<CollectiveTimeout>& timeouts, Desync& out) {
  std::set<std::string> groups;
  for (const auto& row : timeouts) groups.insert(row.group);
  if (groups.size() > 1) return;  // numbers of different groups do not compare
  std::map<int, const CollectiveTimeout*> first;
  for (const auto& row : timeouts) {
    if (row.rank < 0 || row.sequence < 0) continue;
    auto& oldest = first[row.rank];
    if (oldest == nullptr || row.sequence < oldest->sequence) oldest = &row;
  }
  long long most = -1;
  for (const auto& [rank, row] : first) most = std::max(most, row->sequence);
  std::set<long long> others;
  for (const auto& [rank, row] : first) {
    if (row->sequence == most) {
      out.ahead = rank;
      continue;
    }
    others.insert(row->sequence);
    out.behind.insert(rank);
    out.lines.push_back(row->line);
    out.sequence = most;
  }
  if (others.size() != 1 || out.behind.size() < 2 || out.behind.size() + 1 != first.size()) out.ahead = -1;
}

void find_absent(const std::set<int>& seen, int world, Desync& out) {
  std::set<int> all = seen;
  for (int rank = 0; rank < world && world <= 100000; ++rank) all.insert(rank);
  std::set<int> missing;
  std::set_difference(all.begin(), all.end(), out.timed_out.begin(), out.timed_out.end(),
                      std::inserter(missing, missing.end()));
  // Only telling when nearly all the others spoke.
  if (out.timed_out.size() >= 2 && missing.size() * 3 <= all.size()) out.absent = std::move(missing);
  if (out.timed_out.size() == 1 && missing.size() == 1 && all.size() == 2) out.absent = std::move(missing);
}

}  // namespace

int Desync::suspect() const {
  if (behind.size() == 1) return *behind.begin();
  if (!behind.empty()) return ahead;
  if (differing.size() == 1 && !sides_equal) return *differing.begin();
  if (!differing.empty()) return -1;
  return absent.size() == 1 ? *absent.begin() : -1;
}

Desync find_desync(const std::vector<CollectiveTimeout>& fired, const std::vector<WorkStatus>& status,
                   const std::vector<RunningCollective>& running, const std::set<int>& seen, int world) {
  Desync out;
  const auto timeouts = with_groups(fired, status);
  std::map<Place, std::vector<Row>> by_place;
  // Old versions print no numbers: who timed out together stands in the same place.
  const bool numbered =
      std::any_of(timeouts.begin(), timeouts.end(), [](const auto& row) { return row.sequence >= 0; });
  for (const auto& row : timeouts) {
    if (row.rank < 0) continue;
    out.timed_out.insert(row.rank);
    if (row.sequence < 0 && (numbered || row.operation.empty())) continue;
    by_place[{row.group, row.sequence}].push_back(
        {row.line, row.rank,
         what_of(row.operation, std::to_string(row.elements_in) + "/" + std::to_string(row.elements_out)),
         !row.operation.empty() && (row.elements_in < 0) == (row.elements_out < 0)});
  }
  for (const auto& row : running) {
    if (row.sequence < 0 || row.rank < 0) continue;
    by_place[{"running " + row.group, row.sequence}].push_back(
        {row.line, row.rank, what_of(row.operation, row.shape + row.stage)});
  }
  find_behind_by_status(with_timeouts(status, timeouts), out);
  if (out.behind.empty()) find_behind_by_timeout(timeouts, out);
  compare_rows(by_place, out);
  find_absent(seen, world, out);
  return out;
}

}  // namespace fx::knowledge
