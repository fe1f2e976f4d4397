#include <algorithm>

#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  std::vector<int> signs;
  for (const int line : m("refused").telling) {
    const auto& low = s.book.at(line).low;
    if (matches_any("huggingface|https|urllib|requests.|hf.co|wandb|message_task_exit|localhost|127.0.0.1|[::1]|"
                    "dashboard|generate|health|http:",
                    low))
      continue;
    signs.push_back(line);
  }
  Claim out;
  if (signs.empty() || m("listening")) return out;
  const auto& low = s.book.at(signs.front()).low;
  const bool routed = matches_any("no route to host|unreachable|errno: 113", low);
  const bool transport = matches_any("nccl|gloo|net :|socket.h|socket.cc", low);
  out.score = m("wall") ? 0.93 : routed ? 0.9 : m("alive") ? 0.88 : transport ? 0.72 : 0.5;
  if (m("iface") && !m("bridge")) out.score = std::min(out.score, 0.6);
  if (m("bridge")) out.score = std::max(out.score, 0.88);
  // A peer that had failed before refuses connections, too.
  const bool earlier_failure =
      std::any_of(s.exceptions.begin(), s.exceptions.end(), [&](const ExceptionEvent& exception) {
        return exception.line < signs.front() &&
               !matches_any("distbackend|connection|timeout|store", s.book.at(exception.line).low);
      });
  if (earlier_failure && !m("wall") && !routed) out.score = 0.35;
  for (const int line : signs) {
    if (out.lines.size() < 4) out.show(line);
  }
  for (const int line : m("alive").lines) {
    if (matches_any("rtt|bytes from|succeeded|loss", s.book.at(line).low)) out.show(line);
  }
  return out.show(m("wall"), 2);
}

}  // namespace

CauseRule network_path_blocked() {
  return {
      "network-path-blocked",
      {{"refused",
        "no route to host|network is unreachable|host is unreachable|socketstartconnect*failed"
        "|net : connect to*failed|connect to*failed*connection|ncclsocketconnect*failed"
        "|socket*connect*refused|connect*timed out|timed out*connect to|connection refused|errno: 113|errno: 111"
        "|call to connect returned|connection timed out|connect timeout|ncclsocket*timeout"},
       {"wall",
        "firewall|ingress|egress|inbound|outbound rule|network acl|curl*timed out|iptables|security group|ufw|nft_|networkpolicy|network policy|reject with"
        "|filtered|selinux|--list-ports|ports*published|port*published|-j drop|-j reject|blocked|calico|port*open"},
       {"alive", "rtt min|bytes from|ping -c|0% packet loss|nc -vz|succeeded!|open|nmap"},
       {"bridge",
        "connect to 172.17.0.|connect to*<172.17.0.|network bridge|--network=bridge|networkmode*bridge|network host*|--net=bridge|--network host"},
       {"iface", "no socket interface|docker0|virbr|using*lo:|br-"},
       {"listening", "failed to listen|eaddrinuse"},
       {"closed", "connection closed by peer|connection reset by peer"}},
      evaluate};
}

}  // namespace fx::knowledge
