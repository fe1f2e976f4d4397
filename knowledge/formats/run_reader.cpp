#include "knowledge/formats/run_reader.h"

#include <algorithm>

#include "base/text.h"

namespace fx::knowledge {
namespace {

std::string written(const Node& node) {
  if (node.is_scalar()) return node.text;
  return node.is_list() ? join(words_of(&node), ", ") : "{...}";
}

}  // namespace

std::string short_dtype(std::string_view text) {
  std::string name = to_lower(text);
  if (name.rfind("torch.", 0) == 0) name = name.substr(6);
  if (name == "bfloat16" || name == "bf16") return "bf16";
  if (name == "float16" || name == "fp16" || name == "half") return "fp16";
  if (name == "float32" || name == "fp32" || name == "float" || name == "no") return "fp32";
  return name == "fp8" ? "fp8" : "";
}

const Node* RunReader::from(std::string_view field, const Node* node) {
  if (node != nullptr) origins.push_back({std::string(field), node->shown, node->name, node->line, written(*node)});
  return node;
}

void RunReader::text(std::string_view field, std::optional<std::string>& out, const Node* node) {
  if (is_set(from(field, node)) && node->is_scalar()) out = node->text;
}
void RunReader::integer(std::string_view field, std::optional<long long>& out, const Node* node) {
  if (const auto value = integer_of(from(field, node))) out = value;
}
void RunReader::number(std::string_view field, std::optional<double>& out, const Node* node) {
  if (const auto value = number_of(from(field, node))) out = value;
}
void RunReader::flag(std::string_view field, std::optional<bool>& out, const Node* node) {
  from(field, node);
  if (is_true(node)) out = true;
  if (is_false(node)) out = false;
}
void RunReader::dtype(std::string_view field, std::optional<std::string>& out, const Node* node) {
  const std::string name = short_dtype(text_of(from(field, node)));
  if (!name.empty()) out = name;
}
void RunReader::axis(const char* name, std::optional<long long>& out, const Node* node, long long size) {
  from("mesh." + std::string(name), node);
  if (size > 1) out = size;
}
void RunReader::axis(const char* name, std::optional<long long>& out, const Node* node) {
  axis(name, out, node, integer_of(node).value_or(1));
}

void RunReader::state_dict(const Node* node) {
  const std::string low = to_lower(text_of(from("state_dict", node)));
  for (const char* kind : {"sharded", "full", "local"}) {
    if (low.rfind(kind, 0) == 0) run.state_dict = kind;
  }
}

void RunReader::wrap(const Node* policy, const Node* classes) {
  from("wrap", policy);
  const std::string low = to_lower(text_of(policy));
  if (low.rfind("size", 0) == 0) {
    run.wrap = "size";
  } else if (low.rfind("no_wrap", 0) == 0) {
    run.wrap = "none";
  } else if (is_set(from("wrap", classes))) {
    run.wrap = join(words_of(classes), ",");
  } else if (!low.empty()) {
    run.wrap = "default";
  }
}

void RunReader::lora_targets(const Node* node) {
  const auto words = words_of(from("lora.targets", node));
  if (words.empty()) return;
  const bool all = std::any_of(words.begin(), words.end(), [](const auto& word) { return word == "all-linear"; });
  run.lora.targets = all ? "all-linear" : join(words, ",");
}

void RunReader::optimizer(const Node* node) {
  const std::string name = text_of(from("optimizer", node));
  if (name.empty()) return;
  run.optimizer = name == "adamw_torch" || name == "adamw_hf"        ? "adamw"
                  : name == "adamw_torch_fused"                      ? "adamw-fused"
                  : name == "adamw_8bit" || name == "adamw_bnb_8bit" ? "adamw-8bit"
                                                                     : replace_all(name, "_", "-");
}

void RunReader::schedule(const Node* node) {
  const std::string name = to_lower(text_of(from("schedule", node)));
  if (!name.empty()) run.schedule = name == "constant_with_warmup" ? "constant" : name;
}

void RunReader::precision_switches(const Node* bf16, const Node* fp16) {
  from("precision", bf16);
  from("precision", fp16);
  if (is_true(fp16)) run.precision = "fp16";
  if (is_true(bf16) || text_of(bf16) == "auto" || text_of(bf16) == "full") run.precision = "bf16";
}

}  // namespace fx::knowledge
