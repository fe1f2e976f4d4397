#include "knowledge/code_rules/config_comparison.h"

#include <algorithm>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/formats/effective.h"

namespace fx::knowledge {

using namespace code;

namespace {

struct Setting {
  const Event* event = nullptr;
  std::string value;
};

std::string precision_of(const Object* value) {
  if (value == nullptr) return {};
  if (is_dtype(value, "bfloat16")) return "bf16";
  if (is_dtype(value, "float16")) return "fp16";
  if (value->type == Type::kText && value->constant && (value->name == "bf16" || value->name == "fp16"))
    return std::string(value->name);
  return {};
}

// What the code itself computes in: an accelerator's argument, an FSDP policy, autocast.
std::vector<Setting> precisions(const Program& program) {
  std::vector<Setting> found;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kCall) || event.arguments == nullptr) continue;
      const std::string_view name = last_part(event.callee);
      const Object* value = name == "Accelerator" ? event.argument("mixed_precision")
                            : name == "MixedPrecision" || name == "MixedPrecisionPolicy"
                                ? event.argument("param_dtype", 0)
                            : name == "autocast" ? event.argument("dtype", 1)
                                                 : nullptr;
      if (const std::string text = precision_of(value); !text.empty()) found.push_back({&event, text});
    }
  }
  return found;
}

std::vector<Setting> accumulations(const Program& program) {
  std::vector<Setting> found;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (!event.is(EventKind::kCall) || event.arguments == nullptr) continue;
      const Object* value = event.argument("gradient_accumulation_steps");
      if (value != nullptr && value->constant && value->type == Type::kNumber)
        found.push_back({&event, std::to_string(static_cast<long long>(value->number))});
    }
  }
  return found;
}

bool knows_class(const Program& program, std::string_view name) {
  if (std::ranges::any_of(program.classes(), [&](const Class& known) { return known.name == name; })) return true;
  return std::ranges::any_of(program.files(), [&](const auto& file) {
    return std::ranges::any_of(file->imports, [&](const Import& import) { return last_part(import.target) == name; });
  });
}

// The whole model is in the files: it is built from their classes and nothing is loaded from elsewhere.
bool model_is_sent(const Program& program) {
  if (program.calls(".from_pretrained") || program.calls(".from_config")) return false;
  return std::ranges::any_of(program.classes(), [](const Class& known) { return known.is_module; });
}

// The line of the setting that says this value.
CodeHit in_config(const EffectiveRun& effective, std::string_view field, std::string_view value, std::string detail) {
  int line = 1;
  for (const Origin* origin : effective.of(field)) {
    if (contains(origin->value, value)) line = std::max(1, origin->line);
  }
  return {nullptr, line, 0, std::move(detail)};
}

CodeHit in_code(const Setting& setting, std::string detail) {
  return {setting.event->file, setting.event->line(), setting.event->node.column(), std::move(detail)};
}

}  // namespace

std::span<const std::string_view> config_rule_ids() {
  static constexpr std::string_view kIds[] = {"config-wrap-class-unknown", "config-precision-differs",
                                              "config-accumulation-differs"};
  return kIds;
}

std::vector<ConfigHit> compare_with_config(const Program& program, const CodeConfig& config) {
  const Input input = read_input(config.text, config.name, {});
  std::vector<ConfigHit> hits;
  if (!input.applicable) return hits;
  const EffectiveRun effective = effective_run(input);
  const Effective& run = effective.run;
  if (run.wrap && model_is_sent(program)) {
    for (const std::string_view part : split(*run.wrap, ',')) {
      const std::string_view name = trim(part);
      if (is_class_like(name) && !knows_class(program, name))
        hits.push_back(
            {"config-wrap-class-unknown",
             in_config(effective, "wrap", name, "The configuration wraps '" + quote_input(name, 80) + "'.")});
    }
  }
  for (const Setting& setting : precisions(program)) {
    if (run.precision && *run.precision != setting.value)
      hits.push_back({"config-precision-differs", in_code(setting, "The code says " + setting.value +
                                                                       ", the configuration " + *run.precision + ".")});
  }
  for (const Setting& setting : accumulations(program)) {
    if (run.grad_accum && std::to_string(*run.grad_accum) != setting.value)
      hits.push_back({"config-accumulation-differs",
                      in_code(setting, "The code says " + setting.value + " steps, the configuration " +
                                           std::to_string(*run.grad_accum) + ".")});
  }
  return hits;
}

}  // namespace fx::knowledge
