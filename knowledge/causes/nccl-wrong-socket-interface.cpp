#include <algorithm>
#include <map>

#include "knowledge/causes/cause.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

// Interfaces that the settings of the log name: two different ones mean that the first was tried in vain.
std::set<std::string> named_interfaces(const Scene& s, const MarkView& m) {
  std::set<std::string> out;
  for (const int line : m("setting").lines) {
    for (const std::string_view key : {"ifname=", "ifname set by environment to ", "ifname: ", "ifname to "}) {
      const auto name = word_after(s.book.at(line).low, key);
      if (name.size() >= 2 && name.size() < 20) out.insert(name);
    }
  }
  return out;
}

// Lines of a connect error and of the host behind its address, which offered another interface than most hosts did.
std::vector<int> odd_interface(const Scene& s) {
  std::map<std::string, std::vector<int>> hosts;  // interface -> lines of hosts that chose it
  for (const int line : s.book.lines_matching("bootstrap : using*[0]*<", 64)) {
    const auto& low = s.book.at(line).low;
    const auto at = low.find("[0]", low.find("using"));
    hosts[low.substr(at + 3, low.find(':', at) - at - 3)].push_back(line);
  }
  for (const int failed : s.book.lines_matching("connect to *<*failed|connect to *<*refused", 8)) {
    const std::string peer = word_after(s.book.at(failed).low, "connect to ");
    const std::string address = peer.substr(0, peer.find('<'));
    for (const auto& host : hosts) {
      const auto& lines = host.second;
      const bool rare = std::any_of(hosts.begin(), hosts.end(),
                                    [&](const auto& other) { return other.second.size() > lines.size(); });
      for (const int line : lines) {
        if (rare && s.book.at(line).low.find(':' + address + '<') != std::string::npos) return {line, failed};
      }
    }
  }
  return {};
}

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  if (m("none")) {
    out = claim(0.95, m("none"), 3);
  } else if (const auto odd = odd_interface(s); !odd.empty()) {
    out.score = 0.94;
    for (const int line : odd) out.show(line);
  } else if (m("link_local")) {
    // An address that no other host can reach.
    out = claim(0.93, m("link_local"), 3);
    out.show(m("wrong"), 3);
  } else if (m("wrong") && m("failure")) {
    // On one node the loopback is a fair choice.
    const bool several_nodes =
        s.world > 8 || s.book.mentions("nnodes=2|nnodes 2|nnodes=4|node_rank|num_machines|[node1]|connect to 1") ||
        m("setting");
    // A peer on the loopback that left is no wrong interface.
    const auto& wrong = m("wrong").lines;
    const bool left = std::all_of(wrong.begin(), wrong.end(), [&](int line) {
      return matches_any("closed by peer|reset by peer", s.book.at(line).low);
    });
    if (left && !several_nodes) return out;
    out = claim(several_nodes ? 0.92 : 0.7, m("wrong"), 3);
    out.show(m("failure"), 2);
  } else if (m("setting") && m("failure")) {
    if (named_interfaces(s, m).size() >= 2) {
      out = claim(0.92, m("setting"), 4);
      return out.show(m("failure"), 2);
    }
    // A named interface, and a connect error on the host's own network: another interface would have joined the peer.
    const bool named = s.book.mentions("nccl_socket_ifname=|gloo_socket_ifname=|nccl_socket_ifname set");
    out.score = named && s.book.mentions("connect to*failed|no route to host|connectfullmesh") ? 0.62 : 0;
    if (out.score > 0) out.show(m("failure"), 2);
  }
  if (out.score > 0) out.show(m("setting"), 3);
  return out;
}

}  // namespace

CauseRule nccl_wrong_socket_interface() {
  return {
      "nccl-wrong-socket-interface",
      {{"none",
        "no socket interface found|no interface found|unable to find address for"
        "|unable to find interface|could not find interface|interface*not found"
        "|no usable interface|device*does not exist|unable to resolve hostname to a|bad interface|is neither af_inet"},
       {"link_local",
        "connect to fe80:*failed|connect to 169.254.*failed|connect to fe80:*unreachable|connect to fe80:*timed out"},
       {"wrong",
        "bound to lo|[127.0.0.1]:|[127.0.1.1]:|using*docker0|using*virbr|using*[0]lo:|using lo|using*br-|docker0:|virbr0:|lo:127."
        "|127.0.1.1|169.254.|using*cni0|using*flannel|using*veth|using*tailscale|using*podman"},
       {"setting",
        "socket_ifname|nccl_socket_ifname|gloo_socket_ifname|tp_socket_ifname|/sys/class/net|ip -br|ip link"
        "|ifconfig|ip addr"},
       {"failure",
        "connect to*failed|connection refused|timed out|timeout|no route to host|distbackenderror"
        "|unhandled system error|connectfullmesh|connection closed|unreachable"}},
      evaluate};
}

}  // namespace fx::knowledge
