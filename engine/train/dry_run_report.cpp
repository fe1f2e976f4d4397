// What a dry run found, for programs and for people.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/train/dry_run.h"

namespace fx::engine {
namespace {

std::string gib(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(bytes) / (1 << 30));
  return text;
}

// Cells padded to the widest of their column; the first columns hold words, the others numbers.
std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t words) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += " " + (i < words ? row[i] + space : space + row[i]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::int64_t peak_of(const DryRun& run) {
  std::int64_t peak = 0;
  for (const auto& phase : run.phases) peak = std::max(peak, phase.peak_bytes);
  return peak;
}

}  // namespace

Json to_json(const DryRun& run) {
  Json collectives = Json::array(), phases = Json::array();
  std::int64_t calls = 0, bytes = 0;
  for (const Traffic& row : run.traffic) {
    collectives.push_back({{"phase", row.phase},
                           {"group", row.group},
                           {"ranks", row.ranks},
                           {"operation", row.operation},
                           {"calls", row.calls},
                           {"bytes_sent", row.bytes_sent},
                           {"largest_bytes", row.largest_bytes}});
    calls += row.calls, bytes += row.bytes_sent;
  }
  for (const auto& phase : run.phases) phases.push_back({{"phase", phase.name}, {"peak_bytes", phase.peak_bytes}});
  return {{"ranks", run.ranks},
          {"parameters", run.parameters},
          {"trained_parameters", run.trained_parameters},
          {"micro_batches", run.micro_batches},
          {"tokens_a_micro_batch", run.tokens},
          {"collectives", std::move(collectives)},
          {"calls", calls},
          {"bytes_sent", bytes},
          {"memory",
           {{"master_bytes", run.master_bytes},
            {"optimizer_bytes", run.optimizer_bytes},
            {"gradient_bytes", run.gradient_bytes},
            {"peak_bytes", peak_of(run)},
            {"phases", std::move(phases)}}}};
}

std::string to_table(const DryRun& run) {
  std::vector<std::vector<std::string>> sent = {
      {"phase", "group", "collective", "ranks", "calls", "GiB sent", "largest GiB"}};
  for (const Traffic& row : run.traffic) {
    sent.push_back({row.phase, row.group, row.operation, std::to_string(row.ranks), std::to_string(row.calls),
                    gib(row.bytes_sent), gib(row.largest_bytes)});
  }
  std::vector<std::vector<std::string>> memory = {{"phase", "peak GiB"}};
  for (const auto& phase : run.phases) memory.push_back({phase.name, gib(phase.peak_bytes)});
  const bool all = run.trained_parameters == run.parameters;
  const std::string trained = all ? "" : " (" + std::to_string(run.trained_parameters) + " trained)";
  return std::to_string(run.parameters) + " parameters" + trained + " on " + std::to_string(run.ranks) + " ranks; " +
         std::to_string(run.micro_batches) + " micro-batch(es) of " + std::to_string(run.tokens) +
         " tokens a rank and step\n\nsent by one rank in one step:\n" + table(sent, 3) +
         "\nmemory of one rank: " + gib(run.master_bytes) + " GiB master weights, " + gib(run.optimizer_bytes) +
         " optimizer state, " + gib(run.gradient_bytes) + " gradients\n" + table(memory, 1);
}

}  // namespace fx::engine
