#include "knowledge/log/local_ranks.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

constexpr long long kUsualGpus = 8;  // of one host; a larger world has more hosts

long long largest_after(std::string_view low, std::initializer_list<std::string_view> keys) {
  long long out = -1;
  for (const auto key : keys) out = std::max(out, integer_after(low, key).value_or(-1));
  return out;
}

// A count of nodes above one, a node's own number above zero, or a world too large for one host.
bool tells_of_hosts(std::string_view low, long long locals) {
  if (low.find("nod") == std::string_view::npos && low.find("machine") == std::string_view::npos &&
      low.find("nranks") == std::string_view::npos && low.find("world") == std::string_view::npos)
    return false;
  if (matches_any("multi-node|multinode|[node1]|two nodes|four nodes|eight nodes", low)) return true;
  const long long nodes = largest_after(low, {"nnodes=", "nnodes ", "nnodes:", "num_machines=", "num_machines ",
                                              "num_machines:", "num_nodes=", "num_nodes ", "num_nodes:"});
  const long long node =
      largest_after(low, {"node_rank=", "node_rank ", "node_rank:", "machine_rank ", "machine_rank:", "machine_rank="});
  const long long world = largest_after(
      low, {"nranks ", "nranks=", "world_size=", "world_size:", "world_size ", "world size ", "world size:"});
  if (nodes > 1 || node > 0 || world > std::max(kUsualGpus, locals)) return true;
  const auto word = low.find(" nodes");
  const auto before = word == std::string_view::npos || word == 0 ? word : low.find_last_not_of("0123456789", word - 1);
  const auto digits = before == std::string_view::npos ? 0 : before + 1;
  return word != std::string_view::npos && integer_after(low.substr(digits, word - digits), "").value_or(0) > 1;
}

// The launcher's own numbers are all that tells the processes of one host apart.
bool only_local(const LogBook& book) {
  std::set<std::string> hosts;
  std::set<int> locals;
  for (const auto& line : book.lines) {
    if (line.rank >= 0) return false;
    if (!line.head.host.empty()) hosts.insert(line.head.host);
    if (line.head.local_rank >= 0) locals.insert(line.head.local_rank);
  }
  if (hosts.size() > 1 || locals.size() < 2) return false;
  return std::none_of(book.lines.begin(), book.lines.end(),
                      [&](const LogLine& line) { return tells_of_hosts(line.low, *locals.rbegin() + 1); });
}

}  // namespace

void take_local_ranks(LogBook& book) {
  bool agreed = only_local(book);
  for (const auto& line : book.lines) {
    if (line.head.local_rank < 0 || line.head.rank < 0) continue;
    if (line.head.local_rank != line.head.rank) return;
    agreed = true;
  }
  if (!agreed) return;
  for (auto& line : book.lines) {
    if (line.rank < 0) line.rank = line.head.local_rank;
  }
}

}  // namespace fx::knowledge
