#include <set>

#include "knowledge/causes/cause.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  if (m("symbol")) {
    out = claim(0.95, m("symbol"), 3);
    for (const int line : m("library").telling) {
      if (out.lines.size() < 6) out.show(line);
    }
    return out;
  }
  std::set<std::string> versions;
  for (const int line : m("version").lines) {
    const auto& low = s.book.at(line).low;
    std::string version = word_after(low, "nccl version");
    if (version.empty()) version = word_after(low, "nccl version:");
    version = version.substr(0, version.find("+"));
    if (version.size() >= 4 && version[0] == '2') versions.insert(version);
  }
  // Nodes that speak different protocol versions fail when they first meet.
  if (versions.size() < 2 || !m("failed") || !s.steps.empty()) return out;
  // Who cannot reach the other has not yet come to speak with it.
  out = claim(m("unreached") ? 0.5 : 0.8, m("version"), 4);
  return out.show(m("failed"), 2);
}

}  // namespace

CauseRule nccl_library_mismatch() {
  return {
      "nccl-library-mismatch",
      {{"symbol",
        "driver version is insufficient for cuda runtime|undefined symbol: nccl|undefined symbol*nccl|symbol lookup error*nccl"
        "|libnccl.so*cannot open|libnccl.so*not found|libnccl*version*not found"
        "|libnccl-net*incompatible|mismatched nccl|nccl version mismatch|incompatible nccl"
        "|nccl*different version|nccl*does not match|nccl versions differ"
        "|ncclinvalidusage*version|plugin*version mismatch|bootstrap*version mismatch"},
       {"library", "libnccl|nvidia-nccl|ld_library_path|ld_preload|nccl.version"},
       {"version", "nccl version 2|nccl version: 2|nccl 2."},
       {"unreached", "connection refused|no route to host|connection timed out|network is unreachable"},
       {"failed",
        "ncclinternalerror|ncclinvalidusage|ncclsystemerror|internal error|invalid argument"
        "|unhandled|segmentation fault|distbackenderror|watchdog caught"}},
      evaluate};
}

}  // namespace fx::knowledge
