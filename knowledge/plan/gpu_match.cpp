#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "knowledge/plan/gpu.h"

namespace fx::knowledge::plan {
namespace {

// Lower-case words; "rtx4090" and "tesla-v100" give "4090" and "v100".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name.substr(0, 100)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::vector<std::string> out;
  for (auto& word : words) {
    if (word.starts_with("rtx") && word.size() > 3) word = word.substr(3);
    if (!word.empty() && word != "rtx" && word != "nvidia" && word != "geforce" && word != "tesla") out.push_back(word);
  }
  return out;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The memory size in the name ("80gb", "80g", "80 GB"), 0 when it has none.
double gigabytes_of(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string digits = words[i];
    for (const std::string_view unit : {"gib", "gb", "g"}) {
      if (digits.size() > unit.size() && digits.ends_with(unit)) {
        if (const auto n = to_integer(digits.substr(0, digits.size() - unit.size()))) return static_cast<double>(*n);
      }
    }
    const auto n = to_integer(digits);
    if (n && i + 1 < words.size() && (words[i + 1] == "gb" || words[i + 1] == "gib")) return static_cast<double>(*n);
  }
  return 0;
}

// Higher is nearer; negative: another chip.
double score(const Gpu& gpu, const std::vector<std::string>& words, double gigabytes) {
  for (const auto& word : gpu.chip) {
    if (!has(words, word)) return -1;
  }
  double points = 100.0 * static_cast<double>(gpu.chip.size());
  if (gigabytes > 0) points -= std::min(30.0, std::abs(gpu.nominal_gb - gigabytes));
  for (const auto& word : gpu.form) points += has(words, word) ? 35 : 0;
  return points;
}

// Entries of the table that the name speaks of without naming one: "h100x8", "RTX 6000".
std::vector<std::string> meant(std::string_view name) {
  std::vector<std::string> out, names;
  for (const auto& gpu : gpu_table()) {
    names.push_back(gpu.name);
    const bool part = std::any_of(gpu.chip.begin(), gpu.chip.end(),
                                  [&](const std::string& word) { return contains_ignoring_case(name, word); });
    if (part && out.size() < 3) out.push_back(gpu.name);
  }
  if (const auto near = nearest(name, names); near && out.empty()) out.push_back(*near);
  return out;
}

Error unknown_gpu(std::string_view name) {
  std::string hint = "give hardware.gpu_memory_gib and hardware.gpu_tflops for a GPU that the table lacks";
  if (const auto names = meant(name); !names.empty()) hint = "did you mean " + join(names, " or ") + "? Or " + hint;
  return invalid_argument("hardware.gpu", "unknown GPU \"" + quote_input(name, 60) + "\"", hint);
}

}  // namespace

Result<Gpu> find_gpu(std::string_view name) {
  const auto words = words_of(name);
  const double gigabytes = gigabytes_of(words);
  const Gpu* best = nullptr;
  double best_score = -1;
  for (const auto& gpu : gpu_table()) {
    const double points = score(gpu, words, gigabytes);
    if (points > best_score) best = &gpu, best_score = points;
  }
  if (best == nullptr) return unknown_gpu(name);
  return *best;
}

}  // namespace fx::knowledge::plan
