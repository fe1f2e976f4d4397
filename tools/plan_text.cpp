// The plan as a short table for people.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/plan_finetune.h"

namespace fx::tools {
namespace {

constexpr int kBarWidth = 40;

std::string line(const std::string& name, const std::string& value) {
  std::string out = name;
  out.resize(std::max<std::size_t>(20, name.size() + 1), ' ');
  return out + value + "\n";
}

std::string number(double value, const char* format = "%.1f") {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string memory_bars(const Json& memory) {
  std::string out;
  double largest = 1e-9;
  for (const auto& [name, value] : memory["by_component"].items()) largest = std::max(largest, value.get<double>());
  for (const auto& [name, value] : memory["by_component"].items()) {
    const double gib = value.get<double>();
    if (gib < 0.005) continue;
    std::string label = "  " + name;
    label.resize(std::max<std::size_t>(24, label.size() + 1), ' ');
    out += label + number(gib, "%7.2f GiB ") +
           std::string(static_cast<std::size_t>(gib / largest * kBarWidth + 0.5), '#') + "\n";
  }
  return out;
}

std::string list(const Json& result, const char* key, const char* title) {
  if (!result.contains(key) || result[key].empty()) return {};
  std::string out = std::string("\n") + title + "\n";
  for (const auto& item : result[key]) {
    out += item.is_string()
               ? "  - " + item.get<std::string>() + "\n"
               : "  - " + item["change"].get<std::string>() + " (" + item["effect"].get<std::string>() + ")\n";
  }
  return out;
}

std::string alternatives(const Json& r) {
  if (!r.contains("alternatives") || r["alternatives"].size() < 2) return {};
  std::string out = "\nThe best of each way\n";
  for (const auto& a : r["alternatives"]) {
    out += number(a["tokens_per_s_per_gpu"].get<double>(), "  %8.0f tokens/s ") +
           number(a["memory_gib"].get<double>(), "%7.1f GiB ") + (a["fits"].get<bool>() ? "fits  " : "no    ") +
           a["settings"].get<std::string>() + "\n";
  }
  return out;
}

std::string answers(const Json& r) {
  if (!r.contains("answers")) return {};
  std::string out = "\nQuestions\n";
  for (const auto& [id, text] : r["answers"].items()) out += "  " + id + ": " + text.get<std::string>() + "\n";
  return out;
}

std::string head(const Json& r) {
  const Json& m = r["memory_gib"];
  const Json& used = r["hardware_used"];
  std::string out = line("strategy", r["strategy"].get<std::string>());
  out += line("hardware", std::to_string(used["gpus"].get<long long>()) + " x " + used["gpu"].get<std::string>());
  out += line("parameters", number(r["parameters"]["total"].get<double>() / 1e9, "%.3f billion"));
  out += line("fits", std::string(r["fits"].get<bool>() ? "yes" : "NO") + ": " + number(m["needed"].get<double>()) +
                          " GiB needed of " + number(used["usable_memory_gib"].get<double>()) + " GiB");
  out += line("memory a device", number(m["allocated"].get<double>()) + " GiB allocated, " +
                                     number(m["reserved"].get<double>()) + " reserved, " +
                                     number(m["nvidia_smi"].get<double>()) + " in nvidia-smi (" +
                                     number(m["low"].get<double>()) + " - " + number(m["high"].get<double>()) +
                                     "), peak at " + m["peak_moment"].get<std::string>());
  out += memory_bars(m);
  const Json& range = r["tokens_per_s_per_gpu_range"];
  out += line("speed", number(r["tokens_per_s_per_gpu"].get<double>(), "%.0f") + " tokens/s a device (" +
                           number(range[0].get<double>(), "%.0f") + " - " + number(range[1].get<double>(), "%.0f") +
                           "), " + number(r["tokens_per_s"].get<double>(), "%.0f") + " in all, MFU " +
                           number(100 * r["mfu"].get<double>()) + " %, bound by " + r["bound_by"].get<std::string>());
  if (r.contains("hours")) out += line("time", number(r["hours"].get<double>(), "%.2f hours"));
  if (r.contains("cost")) out += line("cost", number(r["cost"].get<double>(), "%.2f"));
  return out;
}

}  // namespace

std::string plan_text(const Json& result) {
  std::string out;
  if (result.value("applicable", false)) {
    out += head(result);
    const Json& s = result["settings"];
    out += "\nSettings\n";
    for (const auto& [name, value] : s.items()) {
      if (value == Json(false) || value == Json(1)) continue;  // what is off or alone says nothing
      if (name == "reshard_after_forward" && (s["sharding"] == "ddp" || s["sharding"] == "none")) continue;
      out += "  " + line(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  } else {
    out += line("strategy", "none: not applicable");
  }
  out += list(result, "reasons", "Why");
  out += list(result, "steps", "From the simplest setting");
  out += alternatives(result);
  out += list(result, "recommendations", "What would change it");
  out += answers(result);
  out += list(result, "assumptions", "Assumed");
  out += list(result, "limits", "Not known");
  if (result.contains("files")) {
    for (const auto& [name, text] : result["files"].items()) out += "\n--- " + name + "\n" + text.get<std::string>();
  }
  return out;
}

}  // namespace fx::tools
