#include <algorithm>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/scaling.h"
#include "knowledge/causes/step_time.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const bool failed = stopped(s);
  const Scaling scaling_loss = failed || !m("link") ? Scaling{} : read_scaling(s);
  if (failed || (!m("link") && !m("comm")) || (!m("speed") && !m("comm") && !scaling_loss.worse)) return {};
  if (s.book.mentions("data_wait|data_time|data wait") && !scaling_loss.worse &&
      !s.book.mentions("comm*ms|exposed|all_gather*s|all-gather*s"))
    return {};
  if (s.book.mentions("training completed|training complete")) return {};
  std::vector<int> proof = share_of(s, TimeKind::kCommunication).lines;
  const bool shared_out = !proof.empty();
  for (const int line : m("comm").lines) {
    const auto& low = s.book.at(line).low;
    const bool talk = matches_any("nccl info|nccl warn|processgroup|warning|.py|http|comm 0x|error|info -", low);
    if (!talk && matches_any("ms|%|s (|gb/s|sec|exposed", low) && low.find_first_of("0123456789") != std::string::npos)
      proof.push_back(line);
  }
  const bool slow_link = s.book.mentions(
      "phb|sys |pxb|rxpci|net/socket|ethernet|no nvlink|via shm|10 "
      "gbit|10gbe|25gbe|tcp|using socket|pcie|gbit|speed: 10000mb|speed: 25000mb|speed: 1000mb|using network socket|nccl_ib_disable=1|gbps|via net");
  const bool scaling = m("speed").count >= 2;
  const bool complaint = s.book.mentions("slow|%*nccl|nccl*%|exposed|why |x worse|only *%|low mfu|mfu low");
  if ((!slow_link && !shared_out && !scaling_loss.worse) ||
      (proof.empty() && !scaling_loss.worse && !(complaint && scaling)))
    return {};
  Claim out;
  for (const int line : scaling_loss.lines) out.show(line);
  out.score = !proof.empty() || scaling_loss.worse                       ? 0.88
              : s.book.mentions("rxpci|topo|net/socket|no nvlink|busbw") ? 0.84
                                                                         : 0.6;
  if (s.book.mentions("cpu_offload: true|offload_optimizer|cpuadam|cpu_offload=true|optimizer_step*cpu"))
    out.score -= 0.3;
  out.show(m("speed"), 3);
  for (const int line : proof) {
    if (out.lines.size() < 5) out.show(line);
  }
  for (const int line : m("link").telling) {
    if (out.lines.size() < 8) out.show(line);
  }
  return out;
}

}  // namespace

CauseRule throughput_interconnect_bound() {
  return {
      "throughput-interconnect-bound",
      {{"link",
        "using socket|phb|sys |pxb|nvidia-smi topo|mb/s|using network|ethtool|pcie|rxpci|ethernet|net/socket|no nvlink|tcp|gbit|10gbe"
        "|25gbe|via shm|gb/s|busbw|via net/socket|nvlink: |x4|x8|ib disabled|nccl_ib_disable|gbps"},
       {"comm",
        "all_to_all|all-to-all|all_gather|all-gather|allgather|reduce_scatter|reduce-scatter|comm_ms|comm time"
        "|communication|nccl kernel|ncclkernel|nccl:|exposed|comms|allreduce|all-reduce|comm_|comms|comm:|comm="},
       {"speed",
        "samples/s|samples_per_s|samples per s|tokens/s|tokens_per_s|tokens per s|tok/s|examples/s|images/s|img/s|seq/s|wps|s/it|ms/step|ms/it|s/step|sec/it|s/batch|it/s|steps/s|step_time|iter_time|iteration time|step time|mfu|tps|tflops|throughput"},
       {"more", "nodes|--devices|gpus|world_size|ranks|fsdp_devices"}},
      evaluate};
}

}  // namespace fx::knowledge
