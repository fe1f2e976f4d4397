#include "knowledge/log/collective_events.h"

#include <algorithm>
#include <cctype>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

std::string capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// "[Rank 3]", "rank 3", "rank=3", "\"rank\": 3": the rank a line names, else its writer's.
int named_rank(const LogLine& line) {
  for (const std::string_view key : {"[rank ", " rank ", "rank=", "\"rank\":"}) {
    if (const auto rank = integer_after(line.low, key); rank && *rank >= 0 && *rank < 1000000)
      return static_cast<int>(*rank);
  }
  return line.rank;
}

// The part of a fingerprint sentence that begins at "rank N is running collective".
RunningCollective read_fingerprint(std::string_view low, int line) {
  RunningCollective out;
  out.line = line;
  out.rank = static_cast<int>(integer_after(low, "rank ").value_or(-1));
  out.sequence = integer_after(low, "sequencenumber=").value_or(-1);
  out.operation = capitals(word_after(low, "optype="));
  if (const auto at = low.find("tensorshape=["); at != std::string_view::npos) {
    out.shape = std::string(low.substr(at + 12, low.find(']', at) - at - 11));
  }
  return out;
}

}  // namespace

const std::vector<Mark>& collective_marks() {
  static const std::vector<Mark> marks{
      {"timeout",
       "watchdog caught collective operation timeout|\"event\"*\"error\"*\"collective\"|collective*timed out after"},
      {"status", "last enqueued*work|last completed*work|\"last_enqueued\""},
      {"dump_signal", "received a dump signal due to a collective timeout from"},
      {"fingerprint", "is running collective: collectivefingerprint"},
      {"recorder", "\"collective_seq_id\"|\"profiling_name\"*\"nccl:|'collective_seq_id'"},
      {"heartbeat", "heartbeat monitor timed out|heartbeatmonitor"},
  };
  return marks;
}

std::vector<CollectiveTimeout> read_collective_timeouts(const LogBook& book) {
  std::vector<CollectiveTimeout> out;
  for (const int index : book.find("core", "timeout").lines) {
    const auto& line = book.at(index);
    if (line.low.find("\"collective\":\"\"") != std::string::npos) continue;  // our engine, not in a collective
    CollectiveTimeout event;
    event.line = index;
    event.rank = named_rank(line);
    event.sequence = integer_after(line.low, "seqnum=").value_or(integer_after(line.low, "\"sequence\":").value_or(-1));
    event.operation = capitals(word_after(line.low, "optype="));
    if (event.operation.empty()) event.operation = capitals(word_after(line.low, "\"collective\":\""));
    event.elements_in = integer_after(line.low, "numelin=").value_or(-1);
    event.elements_out = integer_after(line.low, "numelout=").value_or(-1);
    event.timeout_s = number_after(line.low, "timeout(ms)=").value_or(-1000) / 1000;
    // One rank prints the same timeout again when its watchdog thread ends.
    const bool repeated = std::any_of(out.begin(), out.end(), [&](const CollectiveTimeout& other) {
      return other.rank == event.rank && other.sequence == event.sequence && other.operation == event.operation;
    });
    if (!repeated || event.rank < 0) out.push_back(std::move(event));
  }
  return out;
}

std::vector<WorkStatus> read_work_status(const LogBook& book) {
  std::vector<WorkStatus> out;
  for (const int index : book.find("core", "status").lines) {
    const auto& line = book.at(index);
    WorkStatus status;
    status.line = index;
    status.rank = named_rank(line);
    status.group = word_after(line.low, "pg guid ");
    if (status.group.empty()) status.group = word_after(line.low, "pg id ");
    status.failed =
        integer_after(line.low, "work sequence id:").value_or(integer_after(line.low, "at work:").value_or(-1));
    for (const std::string_view key : {"last enqueued work:", "last enqueued nccl work:", "\"last_enqueued\":"}) {
      if (status.enqueued < 0) status.enqueued = integer_after(line.low, key).value_or(-1);
    }
    for (const std::string_view key : {"last completed work:", "last completed nccl work:", "\"last_completed\":"}) {
      if (status.completed < 0) status.completed = integer_after(line.low, key).value_or(-1);
    }
    if (status.rank >= 0 && (status.enqueued >= 0 || status.completed >= 0)) out.push_back(std::move(status));
  }
  for (const auto& dump : book.dumps) {
    for (const auto& row : dump.statuses) {
      const int line = book.at_number(dump.log, row.number);
      if (line >= 0 && dump.rank >= 0) out.push_back({line, dump.rank, row.group, row.enqueued, row.completed, -1});
    }
  }
  return out;
}

std::vector<RunningCollective> read_running_collectives(const LogBook& book) {
  std::vector<RunningCollective> out;
  for (const int index : book.find("core", "fingerprint").lines) {
    std::string_view low = book.at(index).low;
    static constexpr std::string_view kIs = " is running collective";
    for (auto at = low.find(kIs); at != std::string_view::npos; at = low.find(kIs)) {
      const auto rank_at = low.rfind("rank ", at);
      const auto next = low.find(kIs, at + kIs.size());
      if (rank_at != std::string_view::npos) out.push_back(read_fingerprint(low.substr(rank_at, next), index));
      low.remove_prefix(at + kIs.size());
    }
  }
  for (const int index : book.find("core", "recorder").lines) {
    const auto& line = book.at(index);
    if (book.is_dump(line.log)) continue;
    RunningCollective row;
    row.line = index;
    row.rank = named_rank(line);
    row.sequence = integer_after(line.low, "\"collective_seq_id\":")
                       .value_or(integer_after(line.low, "'collective_seq_id':").value_or(-1));
    row.operation = capitals(word_after(line.low, "\"profiling_name\": \""));
    if (row.operation.empty()) row.operation = capitals(word_after(line.low, "\"profiling_name\":\""));
    row.state = word_after(line.low, "\"state\": \"");
    if (row.state.empty()) row.state = word_after(line.low, "\"state\":\"");
    if (row.sequence >= 0) out.push_back(std::move(row));
  }
  for (const auto& dump : book.dumps) {
    for (const auto& entry : dump.entries) {
      const int line = book.at_number(dump.log, entry.number);
      if (line < 0 || dump.rank < 0) continue;
      out.push_back({line, dump.rank, entry.sequence, capitals(entry.operation), entry.sizes, entry.state, entry.group,
                     entry.stage, entry.frames});
    }
  }
  return out;
}

}  // namespace fx::knowledge
