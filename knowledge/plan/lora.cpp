#include "knowledge/plan/lora.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace fx::knowledge::plan {
namespace {

// Roles of the projections of one layer; expert projections count once an expert.
const std::map<std::string, std::vector<std::string>>& roles_of_names() {
  static const std::map<std::string, std::vector<std::string>> roles = {
      {"q", {"q"}},
      {"q_proj", {"q"}},
      {"wq", {"q"}},
      {"query", {"q"}},
      {"q_a_proj", {"q"}},
      {"q_b_proj", {"q"}},
      {"k", {"k"}},
      {"k_proj", {"k"}},
      {"wk", {"k"}},
      {"key", {"k"}},
      {"kv_a_proj_with_mqa", {"k"}},
      {"kv_b_proj", {"v"}},
      {"v", {"v"}},
      {"v_proj", {"v"}},
      {"wv", {"v"}},
      {"value", {"v"}},
      {"o", {"o"}},
      {"o_proj", {"o"}},
      {"wo", {"o"}},
      {"out_proj", {"o"}},
      {"dense", {"o"}},
      {"proj", {"o"}},
      {"projection", {"o"}},
      {"output_proj", {"o"}},
      {"c_attn", {"q", "k", "v"}},
      {"qkv_proj", {"q", "k", "v"}},
      {"qkv", {"q", "k", "v"}},
      {"wqkv", {"q", "k", "v"}},
      {"query_key_value", {"q", "k", "v"}},
      {"attn", {"q", "k", "v", "o"}},
      {"attention", {"q", "k", "v", "o"}},
      {"mlp", {"gate", "up", "down"}},
      {"gate_up_proj", {"gate", "up"}},
      {"gate", {"gate"}},
      {"gate_proj", {"gate"}},
      {"w1", {"gate"}},
      {"up", {"up"}},
      {"up_proj", {"up"}},
      {"w2", {"down"}},
      {"w3", {"up"}},
      {"down", {"down"}},
      {"down_proj", {"down"}},
      {"c_fc", {"up"}},
      {"fc1", {"up"}},
      {"fc_in", {"up"}},
      {"dense_h_to_4h", {"up"}},
      {"fc2", {"down"}},
      {"fc_out", {"down"}},
      {"dense_4h_to_h", {"down"}},
      {"c_proj", {"o", "down"}},
      {"all-linear", {"q", "k", "v", "o", "gate", "up", "down"}},
      {"all", {"q", "k", "v", "o", "gate", "up", "down"}}};
  return roles;
}

struct Projection {
  double in, out, copies;
};

Projection projection(const ModelShape& m, const std::string& role) {
  const double experts = m.is_moe() ? m.experts : 1, width = m.is_moe() ? m.expert_mlp : m.mlp;
  if (role == "q") return {m.hidden, m.q_width(), 1};
  if (role == "k" || role == "v") return {m.hidden, m.kv_width(), 1};
  if (role == "o") return {m.out_width(), m.hidden, 1};
  if (role == "down") return {width, m.hidden, experts};
  if (role == "gate" && !m.gated) return {0, 0, 0};
  return {m.hidden, width, experts};
}

}  // namespace

AdapterSize adapter_size(const ModelShape& m, const std::vector<std::string>& targets) {
  AdapterSize size;
  std::set<std::string> roles;
  double unknown = 0;
  for (const auto& target : targets.empty() ? std::vector<std::string>{"q", "v"} : targets) {
    std::string name = to_lower(trim(target));
    if (const auto dot = name.rfind('.'); dot != std::string::npos) name = name.substr(dot + 1);
    // First-generation Qwen calls its two MLP inputs w1 and w2.
    if (m.family == "qwen" && name == "w2") name = "up";
    const auto found = roles_of_names().find(name);
    if (found == roles_of_names().end()) {
      ++unknown;
      size.assumed.push_back("adapters on \"" + quote_input(target, 40) + "\" are as large as on a square projection");
    } else {
      roles.insert(found->second.begin(), found->second.end());
    }
  }
  for (const auto& role : roles) {
    const Projection p = projection(m, role);
    size.params_per_rank_unit += (p.in + p.out) * p.copies * m.layers;
    size.input_width += p.in;
    size.output_width += p.out;
    size.modules += p.copies > 0 ? 1 : 0;
  }
  const auto reads = [&](const char* a, const char* b) { return roles.count(a) + roles.count(b) > 0; };
  if (reads("q", "k") || roles.count("v") > 0) size.distinct_width += m.hidden;
  if (reads("gate", "up")) size.distinct_width += m.hidden;
  if (roles.count("down") > 0) size.distinct_width += projection(m, "down").in;
  size.params_per_rank_unit += unknown * 2 * m.hidden * m.layers;
  size.modules += unknown;
  return size;
}

void set_adapters(const AdapterSize& size, double rank, Setting& s) {
  s.lora_rank = rank;
  s.lora_params = rank * size.params_per_rank_unit;
  s.adapted_width = size.input_width;
  s.adapted_output = size.output_width;
  s.adapter_inputs = size.distinct_width;
  s.adapted_modules = size.modules;
}

void adapt_all_linear(const ModelShape& shape, Setting& s) {
  set_adapters(adapter_size(shape, {"all-linear"}), kUsualLoraRank, s);
}

double saved_module_params(const ParamCount& count, const std::vector<std::string>& modules) {
  double params = 0;
  for (const auto& module : modules) {
    const std::string name = to_lower(module);
    if (contains(name, "head") || contains(name, "output")) params += count.head > 0 ? count.head : 0;
    if (contains(name, "emb") || contains(name, "wte") || contains(name, "tok")) params += count.embedding;
  }
  return params;
}

}  // namespace fx::knowledge::plan
