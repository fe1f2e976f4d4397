#include "knowledge/formats/context.h"

#include <cctype>
#include <vector>

#include "base/text.h"

namespace fx::knowledge {
namespace {

std::vector<long long> numbers_of(std::string_view version) {
  std::vector<long long> out;
  long long value = 0;
  bool digits = false;
  for (const char c : std::string(version) + '.') {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 && value < 1'000'000'000) {
      value = value * 10 + (c - '0');
      digits = true;
    } else if (c == '.') {
      if (digits) out.push_back(value);
      value = 0;
      digits = false;
    } else if (digits) {  // "2.8.0+cu128", "0.8.0.dev1": the rest is no number
      out.push_back(value);
      break;
    }
  }
  return out;
}

// "2026-05-01" anywhere in the text; "" when there is none.
std::string day_of(std::string_view version) {
  for (std::size_t i = 0; i + 10 <= version.size(); ++i) {
    const auto day = version.substr(i, 10);
    bool good = day[4] == '-' && day[7] == '-';
    for (const std::size_t at : {0u, 1u, 2u, 3u, 5u, 6u, 8u, 9u}) {
      good = good && std::isdigit(static_cast<unsigned char>(day[at])) != 0;
    }
    if (good) return std::string(day);
  }
  return "";
}

}  // namespace

std::optional<long long> Context::world_size() const {
  if (!gpus) return std::nullopt;
  return *gpus * nodes.value_or(1);
}

std::optional<bool> Context::at_least(std::string_view package, std::string_view version) const {
  const auto found = versions.find(std::string(package));
  if (found == versions.end()) return std::nullopt;
  if (contains(found->second, "main") || !day_of(found->second).empty()) return true;
  const auto have = numbers_of(found->second), want = numbers_of(version);
  if (have.empty()) return std::nullopt;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const long long number = i < have.size() ? have[i] : 0;
    if (number != want[i]) return number > want[i];
  }
  return true;
}

std::optional<bool> Context::from_day(std::string_view package, std::string_view day,
                                      std::optional<bool> release_answer) const {
  const auto found = versions.find(std::string(package));
  if (found == versions.end()) return std::nullopt;
  const std::string have = day_of(found->second);
  if (!have.empty()) return have >= day;
  return contains(found->second, "main") ? std::optional<bool>(true) : release_answer;
}

bool Context::below_sm90() const {
  for (const char* name : {"A100", "A800", "V100", "A10", "A40", "A6000", "L4", "T4", "P100", "RTX-30", "RTX-40",
                           "RTX 30", "RTX 40", "3090", "4090"}) {
    if (contains_ignoring_case(gpu, name)) return true;
  }
  return gpu.empty() && gpu_memory_gib && *gpu_memory_gib <= 48;  // no data-centre GPU from Hopper on is that small
}

bool Context::known_at_least(std::string_view package, std::string_view version) const {
  return at_least(package, version).value_or(false);
}
bool Context::known_below(std::string_view package, std::string_view version) const {
  return !at_least(package, version).value_or(true);
}

std::optional<double> parameter_count(const Node& model) {
  const auto field = [&](std::string_view name) { return number_of(model.find(name)); };
  const auto layers = field("num_hidden_layers"), hidden = field("hidden_size");
  if (!layers || !hidden) return std::nullopt;
  const double inner = field("intermediate_size").value_or(4 * *hidden);
  const double heads = field("num_attention_heads").value_or(32);
  const double kv = field("num_key_value_heads").value_or(heads);
  const double head = field("head_dim").value_or(*hidden / heads);
  double experts = 1;
  double expert_inner = inner;
  for (const auto* name : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    if (const auto count = field(name)) {
      experts = *count;
      expert_inner = field("moe_intermediate_size").value_or(inner);
    }
  }
  const double attention = *hidden * head * (2 * heads + 2 * kv);
  const double vocabulary = field("vocab_size").value_or(32000) * *hidden;
  const double tied = is_true(model.find("tie_word_embeddings")) ? 1 : 2;
  return *layers * (attention + 3 * *hidden * expert_inner * experts) + tied * vocabulary;
}

}  // namespace fx::knowledge
