#include "knowledge/log/line_head.h"

#include <array>
#include <cstring>

#include "base/text.h"
#include "knowledge/log/timestamp.h"

namespace fx::knowledge {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool name_char(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
}

// Reads an unsigned number at pos (at most 9 digits); -1 when there is none.
long long number_at(std::string_view text, std::size_t& pos) {
  std::size_t end = pos;
  long long value = 0;
  while (end < text.size() && digit(text[end]) && end - pos < 9) value = value * 10 + (text[end++] - '0');
  if (end == pos) return -1;
  pos = end;
  return value;
}

// "rank3", "rank 3", "rank: 3", "rank=3", "Rank 3": the number behind the word, -1 if the text is something else.
long long rank_word(std::string_view text, bool whole) {
  if (!starts_with_ignoring_case(text, "rank")) return -1;
  std::size_t pos = 4;
  while (pos < text.size() && pos < 7 &&
         (text[pos] == ' ' || text[pos] == ':' || text[pos] == '=' || text[pos] == '_')) {
    ++pos;
  }
  const long long value = number_at(text, pos);
  return whole && pos != text.size() ? -1 : value;
}

// The parts of a head, tried in turn at pos until none fits. Each moves pos behind itself.
class HeadReader {
 public:
  explicit HeadReader(std::string_view line) : line_(line) {}

  LineHead run() {
    for (int part = 0; part < 8; ++part) {
      while (pos_ < line_.size() && line_[pos_] == ' ' && (part > 0 || head_.body > 0)) ++pos_;
      if (pos_ >= line_.size()) break;
      const std::size_t before = pos_;
      const char c = line_[pos_];
      const bool known = c == '['    ? bracket()
                         : c == '('  ? actor()
                         : part == 0 ? (slurm_label() || nccl() || container() || glog() || time() || plain_rank())
                                     : (nccl() || glog() || time() || plain_rank());
      if (pos_ == before) break;
      if (known) head_.body = pos_;
    }
    // One blank between head and text belongs to the head; more are the text's own indentation.
    if (head_.body > 0 && head_.body < line_.size() && line_[head_.body] == ' ') ++head_.body;
    return head_;
  }

 private:
  std::string_view rest() const { return line_.substr(pos_); }

  void skip_colon() {
    if (pos_ < line_.size() && line_[pos_] == ':') ++pos_;
  }

  bool bracket() {
    const auto close = line_.find(']', pos_);
    if (close == std::string_view::npos || close - pos_ > 120) return false;
    const std::string_view inside = line_.substr(pos_ + 1, close - pos_ - 1);
    pos_ = close + 1;
    const bool known = bracket_content(inside);
    skip_colon();
    return known;
  }

  bool bracket_content(std::string_view inside) {
    if (const auto rank = rank_word(inside, true); rank >= 0) return head_.rank = static_cast<int>(rank), true;
    if (const auto at = inside.find(" Rank ");
        at != std::string_view::npos && starts_with_ignoring_case(inside, "pg ")) {
      if (const auto rank = rank_word(inside.substr(at + 1), false); rank >= 0) {
        return head_.rank = static_cast<int>(rank), true;
      }
    }
    if (starts_with_ignoring_case(inside, "node")) return head_.host = std::string(inside), true;
    if (starts_with_ignoring_case(inside, "pod/")) return head_.actor = std::string(inside.substr(4)), true;
    if (const auto stamp = read_timestamp(inside)) return head_.time = *stamp, true;
    if (inside.size() > 4 && std::strchr("IWEF", inside[0]) != nullptr) {
      if (const auto stamp = read_timestamp(inside.substr(1))) return head_.time = *stamp, true;
    }
    return tee_prefix(inside) || mpi_tag(inside);
  }

  // torchrun --tee: [default3]:
  bool tee_prefix(std::string_view inside) {
    for (const std::string_view role : {"default", "trainer", "worker"}) {
      if (!starts_with_ignoring_case(inside, role)) continue;
      std::size_t at = role.size();
      const auto local = number_at(inside, at);
      if (local >= 0 && at == inside.size()) return head_.local_rank = static_cast<int>(local), true;
    }
    return false;
  }

  // mpirun --tag-output: [1,3]<stderr>:
  bool mpi_tag(std::string_view inside) {
    std::size_t at = 0;
    if (number_at(inside, at) < 0 || at >= inside.size() || inside[at] != ',') return false;
    const auto rank = number_at(inside, ++at);
    if (rank < 0 || at != inside.size() || rest().substr(0, 4) != "<std") return false;
    const auto close = line_.find('>', pos_);
    if (close == std::string_view::npos) return false;
    pos_ = close + 1;
    return head_.rank = static_cast<int>(rank), true;
  }

  // Ray: (Actor pid=1234, ip=10.0.0.1) text
  bool actor() {
    // An actor's own name may hold a pair: "(Worker(rank=0) pid=7)".
    std::size_t close = pos_;
    for (int depth = 0; close < line_.size(); ++close) {
      if (line_[close] == '(') ++depth;
      if (line_[close] == ')' && --depth == 0) break;
    }
    if (close >= line_.size() || close - pos_ > 120) return false;
    const std::string_view inside = line_.substr(pos_ + 1, close - pos_ - 1);
    if (const auto rank = rank_word(inside, true); rank >= 0) {
      head_.rank = static_cast<int>(rank);
      pos_ = close + 1;
      return true;
    }
    const auto pid = inside.find("pid=");
    if (pid == std::string_view::npos && inside.substr(0, 6) != "raylet" && inside.substr(0, 9) != "autoscale")
      return false;
    head_.actor = std::string(inside.substr(0, inside.find_first_of(" ,")));
    if (pid != std::string_view::npos) {
      std::size_t at = pid + 4;
      head_.pid = number_at(inside, at);
    }
    if (const auto rank = inside.find("rank="); rank != std::string_view::npos) {
      std::size_t at = rank + 5;
      if (const auto number = number_at(inside, at); number >= 0) head_.rank = static_cast<int>(number);
    }
    if (const auto ip = inside.find("ip="); ip != std::string_view::npos)
      head_.host = std::string(inside.substr(ip + 3));
    pos_ = close + 1;
    return true;
  }

  // srun --label: "12: text"
  bool slurm_label() {
    std::size_t at = pos_;
    while (at < line_.size() && at < 4 && line_[at] == ' ') ++at;
    const std::size_t begin = at;
    const auto task = number_at(line_, at);
    if (task < 0 || at - begin > 5 || line_.substr(at, 2) != ": ") return false;
    head_.rank = static_cast<int>(task);
    pos_ = at + 1;
    return true;
  }

  // host:pid:tid [device] NCCL INFO ...
  bool nccl() {
    std::size_t at = pos_;
    while (at < line_.size() && name_char(line_[at])) ++at;
    const std::size_t name_end = at;
    if (name_end == pos_ || at >= line_.size() || line_[at] != ':') return false;
    const auto pid = number_at(line_, ++at);
    if (pid < 0 || at >= line_.size() || line_[at] != ':') return false;
    if (number_at(line_, ++at) < 0 || line_.substr(at, 2) != " [") return false;
    at += 2;
    const auto device = number_at(line_, at);
    if (device < 0 || at >= line_.size() || line_[at] != ']') return false;
    head_.host = std::string(line_.substr(pos_, name_end - pos_));
    head_.pid = pid;
    head_.local_rank = static_cast<int>(device);
    pos_ = at + 1;
    return true;
  }

  // docker compose: "trainer-0  | text"
  // or "worker-1: text" of a launcher.
  bool container() {
    std::size_t at = pos_;
    bool numbered = false;
    while (at < line_.size() && name_char(line_[at])) numbered = digit(line_[at++]);
    const std::string_view name = line_.substr(pos_, at - pos_);
    if (numbered && line_.substr(at, 2) == ": " && (name.substr(0, 7) == "worker-" || name.substr(0, 5) == "node-")) {
      head_.actor = std::string(name);
      pos_ = at + 1;
      return true;
    }
    if (!numbered || at == pos_ || at >= line_.size() || line_[at] != ' ') return false;
    const std::size_t end = at;
    while (at < line_.size() && line_[at] == ' ') ++at;
    if (line_.substr(at, 2) != "| " || line_.substr(pos_, end - pos_).find_first_of("-_") == std::string_view::npos)
      return false;
    head_.actor = std::string(line_.substr(pos_, end - pos_));
    pos_ = at + 1;
    return true;
  }

  // E0626 03:50:14.010000 61200 torch/...py:869] text
  bool glog() {
    if (std::strchr("IWEF", line_[pos_]) == nullptr) return false;
    const auto stamp = read_timestamp(rest().substr(1));
    if (!stamp) return false;
    head_.time = *stamp;
    const auto close = rest().find("] ");
    pos_ += close != std::string_view::npos && close < 120 ? close + 1 : stamp->length + 1;
    return true;
  }

  bool time() {
    const auto stamp = read_timestamp(rest());
    if (!stamp) return false;
    head_.time = *stamp;
    pos_ += stamp->length;
    if (syslog()) return true;
    for (const std::string_view gap : {" - ", " : ", ": ", " | "}) {
      if (rest().substr(0, gap.size()) == gap) return pos_ += gap.size() - 1, true;
    }
    return true;
  }

  // journald and syslog behind the time: "host program[pid]: text", "host kernel: text"
  bool syslog() {
    std::size_t at = pos_;
    if (at >= line_.size() || line_[at++] != ' ') return false;
    const std::size_t host = at;
    while (at < line_.size() && name_char(line_[at])) ++at;
    const std::size_t host_end = at;
    if (host_end == host || at >= line_.size() || line_[at++] != ' ') return false;
    const std::size_t program = at;
    while (at < line_.size() && name_char(line_[at])) ++at;
    const std::size_t program_end = at;
    const std::string_view name = line_.substr(program, program_end - program);
    if (name == "kernel" && line_.substr(at, 1) == ":") {
      head_.host = std::string(line_.substr(host, host_end - host));
      return pos_ = at + 1, true;
    }
    if (name.empty() || at >= line_.size() || line_[at++] != '[') return false;
    // The number is that of the launcher: all ranks of a unit write through it.
    if (number_at(line_, at) < 0 || line_.substr(at, 2) != "]:") return false;
    head_.host = std::string(line_.substr(host, host_end - host));
    head_.actor = std::string(name);
    pos_ = at + 2;
    return true;
  }

  // "rank 3: text" or "Rank 3 | text" behind a time or a host
  bool plain_rank() {
    const auto rank = rank_word(rest().substr(0, 16), false);
    if (rank < 0) return false;
    std::size_t at = pos_ + 4;
    while (at < line_.size() && !digit(line_[at])) ++at;
    while (at < line_.size() && digit(line_[at])) ++at;
    if (at >= line_.size() || (line_[at] != ':' && line_.substr(at, 2) != " |" && line_.substr(at, 2) != " -"))
      return false;
    head_.rank = static_cast<int>(rank);
    pos_ = at + (line_[at] == ':' ? 1 : 2);
    return true;
  }

  std::string_view line_;
  LineHead head_;
  std::size_t pos_ = 0;
};

}  // namespace

LineHead read_head(std::string_view line) {
  return HeadReader(line).run();
}

}  // namespace fx::knowledge
