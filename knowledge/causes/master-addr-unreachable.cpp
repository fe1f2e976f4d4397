#include <algorithm>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const auto outside_hub = [&](const Hits& hits) {
    std::vector<int> out;
    for (const int line : hits.lines) {
      const auto& low = s.book.at(line).low;
      if (!matches_any("huggingface|hf.co|https|urllib|requests.|modelscope|wandb|amazonaws|download", low))
        out.push_back(line);
    }
    return out;
  };
  const auto resolve = outside_hub(m("resolve"));
  const auto connect = outside_hub(m("connect"));
  Claim out;
  if (m("listening") || (resolve.empty() && connect.empty())) return out;
  if (!resolve.empty()) {
    out.score = m("hub") ? 0.55 : 0.93;
    for (const int line : resolve) {
      if (out.lines.size() < 3) out.show(line);
    }
  } else {
    out.score = m("blocked") ? 0.45 : m("own") ? 0.93 : 0.74;
  }
  for (const int line : connect) {
    if (out.lines.size() < 4) out.show(line);
  }
  return out.show(m("setting"), 2).show(m("own"), 2);
}

}  // namespace

CauseRule master_addr_unreachable() {
  return {
      "master-addr-unreachable",
      {{"connect",
        "client socket has failed to connect|client socket has timed out"
        "|client socket cannot be initialized|connection to the c10d store has failed"
        "|failed to connect to*store|rendezvousconnectionerror|tcpstore*connect|connectfullmesh"
        "|failed to connect*master|distnetworkerror*connect"},
       {"resolve",
        "can't resolve|cannot resolve|does not resolve|name or service not known|temporary failure in name resolution|getaddrinfo"
        "|no address associated with hostname|nodename nor servname|gaierror|could not resolve"
        "|cannot be retrieved*err|hostname could not be|unable to resolve|unknown host"
        "|failed to resolve|hostname of the rendezvous endpoint|endpoint is absent in|port is absent in endpoint|variable master_addr expected|master_addr*not set"},
       {"setting",
        "master_addr|--master_addr|--master-addr|main_process_ip|rdzv_endpoint|rdzv-endpoint"
        "|init_method"},
       {"own", "inet_|127.0.0.1/8|ip -br|ip addr|hostname -i|hostname -I"},
       {"hub", "huggingface|hf.co|https|urllib|requests.|modelscope|wandb|s3.|hub|proxy|pypi"},
       {"blocked",
        "0% packet loss|succeeded!|nc: connect|no route to host|firewall|iptables|security group|network is unreachable|rtt min"
        "|bytes from|ufw|nft_|filtered|reject|drop"},
       {"listening", "failed to listen|eaddrinuse|address already in use"}},
      evaluate};
}

}  // namespace fx::knowledge
