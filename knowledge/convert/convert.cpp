#include "knowledge/convert/convert.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "knowledge/convert/difference.h"
#include "knowledge/rules/validate.h"

namespace fx::knowledge {
namespace {

constexpr std::uint32_t kTrains = kAccelerateYaml | kTrainerCli | kFsdpConfigJson | kTrainingArgsJson | kAxolotlYaml |
                                  kTorchtitanToml | kTorchtitanCli | kTorchtitanPython | kTorchtuneYaml |
                                  kVerlOverrides | kSlimeCli | kDeepspeedJson | kLlamafactoryYaml | kRunSpec;

// Rules that say only that the format itself is gone: leaving it is the cure.
bool is_cured(const std::string& rule) {
  return rule == "torchtitan-toml-removed" || rule == "slime-fsdp-backend-removed";
}

// The cluster as the output's reader must see it: what the source itself says about ranks counts too.
Context output_context(const Input& source, const Effective& run) {
  Context context = source.context;
  if (!run.world_size || *run.world_size <= 0) return context;
  const long long nodes = run.nodes.value_or(1);
  context.nodes = nodes > 0 && *run.world_size % nodes == 0 ? nodes : 1;
  context.gpus = *run.world_size / *context.nodes;
  return context;
}

std::string heading(const Target& target, const Input& source) {
  if (target.emit == nullptr || target.format == kRunSpec || target.family == "trainer") return "";
  return "# Converted from " + std::string(to_string(source.format)) + " by fsdp-expert.\n";
}

void note_context(const Input& source, const Effective& run, const Target& target, WriteNotes& notes) {
  const auto told = source.context.world_size();
  if (told && run.world_size && *told != *run.world_size) {
    notes.placeholder("world_size", std::to_string(*run.world_size),
                      "the source's own number counts; the context says " + std::to_string(*told));
  }
  if (target.format == kTorchtitanToml && source.context.from_day("torchtitan", "2026-02-23", false).value_or(false))
    notes.placeholder("(format)", "TOML", "this torchtitan reads no TOML any more: move the values to a Python config");
}

}  // namespace

Result<Conversion> convert_run(const Input& source, const Target& target, const FitOptions& options) {
  Conversion out;
  bool broken = false;
  for (Finding& finding : validate(source)) {
    const bool error = finding.severity == Severity::kError && !is_cured(finding.rule);
    broken = broken || error;
    if (error || finding.rule == "secret-in-config") out.findings.push_back(std::move(finding));
  }
  const EffectiveRun from = effective_run(source);
  if (!source.applicable || (!source.is(kTrains) && !from.run.strategy)) {
    out.reason = source.applicable
                     ? "This says how ranks start, not how a model is trained: there is nothing to convert."
                     : "Not a training configuration that this tool covers.";
    return out;
  }
  out.applicable = true;
  if (broken) {
    out.reason = "The source has errors, so what it would train is not what it says: correct them first.";
    return out;
  }
  Effective run = from.run;
  WriteNotes notes;
  if (auto done = fit_run(run, target, options, notes); !done) return done.error();
  note_context(source, from.run, target, notes);
  Json tree = target.write(run, notes);
  auto carried = carry_settings(source, from, target, run, tree);
  out.text = heading(target, source) + target.emit(tree);
  const EffectiveRun to = effective_run(read_input(out.text, "", output_context(source, run)));
  out.converted = true;
  out.effective = to.run;
  compare({from, to, settings_of(source), std::move(carried)}, target, notes, out);
  return out;
}

}  // namespace fx::knowledge
