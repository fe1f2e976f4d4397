#include <algorithm>
#include <cctype>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/step_time.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

// The job's settings, when given, say that the optimizer or the parameters live on the host.
bool set_to_offload(const Scene& s) {
  for (const char* key : {"offload_optimizer", "offload_params", "fsdp_offload_params", "cpu_offload",
                          "optimizer_offload", "param_offload", "offload_param", "enable_cpu_offload"}) {
    const std::string value = s.setting(key);
    if (!value.empty() && !matches_any("false|none|null", value) && value != "0") return true;
  }
  // Nested: offload_optimizer.device = cpu
  return std::any_of(s.config.begin(), s.config.end(), [](const auto& setting) {
    return matches_any("offload_optimizer.device|offload_param.device", setting.first) &&
           !matches_any("none|null", setting.second);
  });
}

// Some line speaks of offload other than as a setting that is off.
bool says_on(const Scene& s, const Hits& offload) {
  return std::any_of(offload.lines.begin(), offload.lines.end(), [&](int line) {
    const std::string_view low = s.book.at(line).low;
    for (auto at = low.find("offload"); at != std::string_view::npos; at = low.find("offload", at + 7)) {
      const auto rest = low.substr(at, 90);
      const auto value = rest.find_first_of(":= ");
      const auto word = value == std::string_view::npos ? value : rest.find_first_not_of(":= .'\"", value);
      if (word == std::string_view::npos || rest.substr(0, value).find('(') != std::string_view::npos) return true;
      const bool off = matches_any("false|none|off|no", rest.substr(word, 5)) || rest[word] == '0';
      if (!off) return true;
    }
    return low.find("offload") == std::string_view::npos;
  });
}

// A number with a unit of time, a rate or a share: a setting has none.
bool measures(std::string_view low) {
  if (matches_any("(ms)|time|s/it|it/s", low)) return true;
  for (auto at = low.find_first_of("0123456789"); at != std::string_view::npos;
       at = low.find_first_of("0123456789", at)) {
    at = std::min(low.size(), low.find_first_not_of("0123456789.", at));
    auto unit = low.substr(at, 6);
    if (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
    const bool seconds =
        unit.substr(0, 1) == "s" && (unit.size() == 1 || !std::isalpha(static_cast<unsigned char>(unit[1])));
    if (seconds || unit.substr(0, 1) == "%" || unit.substr(0, 2) == "ms" || unit.substr(0, 3) == "sec" ||
        unit.substr(0, 4) == "gb/s")
      return true;
  }
  return false;
}

Claim evaluate(const Scene& s, const MarkView& m) {
  const bool failed = stopped(s);
  if (failed || (!says_on(s, m("offload")) && !set_to_offload(s))) return {};
  std::vector<int> proof;
  for (const int line : m("time").lines) {
    const auto& low = s.book.at(line).low;
    // What DeepSpeed prints of every run whose optimizer is on the host.
    if (matches_any("arithmetic capability|time to load|config: alpha|config.py|loading extension", low)) continue;
    if (low.find("util.py") == std::string::npos && low.find("utils.py") == std::string::npos &&
        matches_any("optim*s|h2d|d2h|memcpy|copy|pcie|gpu util|cpu util|host|util*%|util *%", low) && measures(low))
      proof.push_back(line);
  }
  // The optimizer of offloaded parameters runs on the CPU.
  for (const auto kind : {TimeKind::kOffload, TimeKind::kOptimizer}) {
    for (const int line : share_of(s, kind).lines) proof.push_back(line);
  }
  const bool off_on_compare = s.book.mentions(
      "offload*s/it*without*s/it|offload*s/it*baseline|no-offload|ram baseline|baseline without|offload*false*s/it|offload*false*it/s|offload*false*tokens|offload=off|offload: off|offload off|offload is off|offload*turned off|offload*switched off|offload=false|without offload|offload: false|no offload|offload disabled");
  const bool slow_words = s.book.mentions("slow|gpu util*%|gpu idle|util *%|why ");
  if (proof.empty() && !off_on_compare && !slow_words) return {};
  Claim out = claim(proof.empty() ? 0.7 : off_on_compare || proof.size() >= 2 ? 0.9 : 0.82, m("offload"), 2);
  if (s.book.mentions("data_wait|data_time|data wait|dataloader*wait")) out.score -= 0.15;
  if (!proof.empty()) out.show(proof.back()).show(proof[proof.size() / 2]);
  for (const int line : proof) {
    if (out.lines.size() < 6) out.show(line);
  }
  return out.show(m("usage"), 2);
}

}  // namespace

CauseRule throughput_offload_bound() {
  return {
      "throughput-offload-bound",
      {{"offload",
        "adam optimizer #*arithmetic capability|cpu_offload|offload_params|offload optimizer|optimizer offload|cpu offload|fsdp_offload|offloading|offload_optimizer|cpuoffload|cpuadam|cpu adam|cpu_adam"
        "|zero-offload|optimizer*on cpu|offload_policy|offload*: true|offload=true|param*offload"
        "|cpu optimizer|offload_param"},
       {"usage", "nvidia-smi|_cpu (|top: |gpu util|cpu util"},
       {"time",
        "h2d|d2h|optimizer_step|optimizer step|copy|memcpy|host to device|pcie|step_time|s/it"
        "|sec/it|s/step|gpu util|cpu util|step time|tokens/s|tokens/sec|samples/s|optim*s|util"}},
      evaluate};
}

}  // namespace fx::knowledge
