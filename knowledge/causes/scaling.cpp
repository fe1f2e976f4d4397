#include "knowledge/causes/scaling.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

struct Point {
  int line = 0;
  long long workers = 0;
  double seconds = -1;  // a step's
  double rate = -1;
};

std::optional<double> before(std::string_view low, std::string_view unit) {
  const auto at = low.find(unit);
  if (at == std::string_view::npos) return std::nullopt;
  const auto end = low.find_last_not_of(' ', at == 0 ? 0 : at - 1);
  if (end == std::string_view::npos) return std::nullopt;
  const auto from = low.find_last_not_of("0123456789.,", end);
  std::string digits(
      low.substr(from == std::string_view::npos ? 0 : from + 1, end - (from == std::string_view::npos ? 0 : from) + 1));
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  return number_after(digits, "");
}

// "4 nodes", "16 gpus", "nodes=2", "world_size 32": of nodes only, or of GPUs only.
long long workers_in(std::string_view low, bool nodes) {
  static constexpr std::array<std::string_view, 3> kNodes{" node", "-node", " machine"};
  static constexpr std::array<std::string_view, 3> kGpus{" gpu", "xgpu", " rank"};
  static constexpr std::array<std::string_view, 3> kNodeKeys{"nodes=", "nodes:", "nnodes "};
  static constexpr std::array<std::string_view, 9> kGpuKeys{"--devices ",       "nproc_per_node=", "nproc_per_node ",
                                                            "--num_processes ", "gpus=",           "gpus:",
                                                            "world_size=",      "world size ",     "world="};
  const auto take = [&](const auto& nouns, const auto& keys) -> long long {
    for (const auto noun : nouns) {
      if (const auto count = before(low, noun); count && *count >= 1) return static_cast<long long>(*count);
    }
    for (const auto key : keys) {
      if (const auto count = integer_after(low, key); count && *count >= 1) return *count;
    }
    return 0;
  };
  if (nodes && matches_any("single node|one node|single host|single machine|one host|one machine", low)) return 1;
  if (nodes && matches_any("both nodes|both hosts|two nodes|two hosts|2 hosts|two machines|both machines", low))
    return 2;
  return nodes ? take(kNodes, kNodeKeys) : take(kGpus, kGpuKeys);
}

Point read_point(std::string_view low, int line) {
  Point out;
  out.line = line;
  for (const std::string_view unit : {"s/it", "s/step", "s/batch", "sec/it", "sec/step", "sec/batch", "s per step",
                                      "s per it", "s a step", " s / step", " seconds/it", " seconds/step"}) {
    if (const auto value = before(low, unit); value && out.seconds < 0) out.seconds = *value;
  }
  for (const std::string_view key : {"ms/step ", "ms/step: ", "ms/it ", "ms/it: ", "(ms): ", "(ms) "}) {
    if (const auto value = number_after(low, key); value && out.seconds < 0) out.seconds = *value / 1000;
  }
  if (const auto value = before(low, "ms/step"); value && out.seconds < 0) out.seconds = *value / 1000;
  for (const std::string_view key : {"total ", "step_time=", "step_time = ", "step_time ", "step_time: ", "step time ",
                                     "step time: ", "iter time "}) {
    if (out.seconds >= 0) break;
    if (const auto value = number_after(low, key)) out.seconds = *value;
  }
  for (const std::string_view unit :
       {"/s/gpu",        "/gpu/s",       "tokens/s",     "tok/s",      "samples/s", "samples_per_s",
        "samples per s", "tokens_per_s", "tokens per s", "examples/s", "images/s",  "img/s",
        "imgs/s",        "seq/s",        "sequences/s",  "words/s",    "it/s",      "iter/s",
        "iters/s",       "steps/s",      "batches/s",    "wps",        "tflop",     "gb/s"}) {
    if (const auto value = before(low, unit); value && out.rate < 0) out.rate = *value;
  }
  for (const std::string_view key : {"tokens/s ",
                                     "tokens/s: ",
                                     "tokens/s=",
                                     "tps: ",
                                     "tps=",
                                     "mfu: ",
                                     "mfu=",
                                     "batches_per_sec: ",
                                     "samples_per_sec: ",
                                     "tokens_per_sec: ",
                                     "wps: ",
                                     "wps=",
                                     "wps ",
                                     "per_second: ",
                                     "per_second=",
                                     "per_second ",
                                     "per_second_per_gpu ",
                                     "per_second_per_gpu: ",
                                     "per_second_per_gpu=",
                                     "throughput: ",
                                     "throughput="}) {
    if (out.rate >= 0) break;
    if (const auto value = number_after(low, key)) out.rate = *value;
  }
  return out;
}

// Every line with a time or a rate, with the number of workers of its own or of the last line that told one.
std::vector<Point> read_points(const Scene& scene, bool nodes) {
  std::vector<Point> out;
  const bool many =
      scene.world > 8 || scene.book.mentions("node_rank|nnodes=2|nnodes 2|num_nodes=2|multi-node|two nodes");
  long long workers = nodes && many ? 2 : 0;
  for (std::size_t i = 0; i < scene.book.lines.size() && out.size() < 2000; ++i) {
    const std::string_view low = scene.book.lines[i].low;
    // A remark in brackets speaks of another run.
    const bool remark = !trim(low).empty() && trim(low).front() == '(';
    const auto own = workers_in(low, nodes);
    if (own > 0 && !remark) workers = own;
    if (workers == 0 && own == 0) continue;
    Point point = read_point(low, static_cast<int>(i));
    point.workers = own > 0 ? own : workers;
    if (point.seconds > 0 || point.rate > 0) out.push_back(point);
  }
  return out;
}

}  // namespace

namespace {

// "3,000 tok/s -> 400 tok/s with the second node": the rate behind the arrow is lower.
bool falls_by_arrow(std::string_view low) {
  const auto arrow = low.find("->");
  if (arrow == std::string_view::npos || !matches_any("node|host|machine", low)) return false;
  const Point from = read_point(low.substr(0, arrow), 0), to = read_point(low.substr(arrow), 0);
  return (from.rate > 0 && to.rate > 0 && to.rate < 0.8 * from.rate) ||
         (from.seconds > 0 && to.seconds > 1.5 * from.seconds);
}

// "900 tok/s (1 node: 6,000 tok/s)": the rate of several nodes before the bracket is lower.
bool falls_by_bracket(std::string_view low) {
  const auto open = low.find('('), close = low.find(')', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return false;
  const auto inside = low.substr(open, close - open);
  if (!matches_any("(1 node|(single node|(one node|(1 host|(one host|(single host", inside)) return false;
  const Point several = read_point(low.substr(0, open), 0), one = read_point(inside, 0);
  return (several.rate > 0 && one.rate > 0 && several.rate < 0.8 * one.rate) ||
         (several.seconds > 1.5 * one.seconds && one.seconds > 0);
}

}  // namespace

Scaling read_scaling(const Scene& scene) {
  for (const int line : scene.book.lines_matching("->*node|->*host|->*machine|node*->|host*->|machine*->", 16)) {
    if (falls_by_arrow(scene.book.at(line).low)) return {true, {line}};
  }
  for (const int line :
       scene.book.lines_matching("(1 node|(single node|(one node|(1 host|(one host|(single host", 16)) {
    if (falls_by_bracket(scene.book.at(line).low)) return {true, {line}};
  }
  for (const bool nodes : {true, false}) {
    const auto points = read_points(scene, nodes);
    for (const auto& small : points) {
      const auto large = std::find_if(points.begin(), points.end(), [&](const Point& point) {
        const bool slower = small.seconds > 0 && point.seconds > 1.5 * small.seconds;
        const bool falls = small.rate > 0 && point.rate > 0 && point.rate < 0.8 * small.rate;
        return point.workers > small.workers && (slower || falls);
      });
      if (large != points.end()) return {true, {large->line, small.line}};
      if (&small - points.data() > 200) break;  // a comparison stands near the beginning or nowhere
    }
  }
  return {};
}

}  // namespace fx::knowledge
