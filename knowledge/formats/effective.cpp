#include "knowledge/formats/effective.h"

#include "knowledge/formats/run_reader.h"

namespace fx::knowledge {
namespace {

bool is_small(const std::optional<long long>& n) {
  return n && *n > 0 && *n < 1000000;
}

// Ranks that see different data.
std::optional<long long> data_ranks(const Effective& run) {
  if (!is_small(run.world_size)) return std::nullopt;
  long long other = 1;
  for (const auto& size : {run.mesh.tp, run.mesh.cp, run.mesh.sp, run.mesh.pp}) {
    if (size && !is_small(size)) return std::nullopt;
    other *= size.value_or(1);
  }
  if (*run.world_size % other != 0) return std::nullopt;
  return *run.world_size / other;
}

// The data-parallel axes that the strategy implies and the file does not write.
void complete_mesh(Effective& run, long long ranks) {
  EffectiveMesh& mesh = run.mesh;
  const auto above_one = [](long long n) { return n > 1 ? std::optional<long long>(n) : std::nullopt; };
  if (run.strategy == "ddp") {
    if (!mesh.dp_replicate && !mesh.dp_shard) mesh.dp_replicate = above_one(ranks);
    return;
  }
  const std::string strategy = run.strategy.value_or("");
  if (strategy.rfind("fsdp", 0) != 0 && strategy.rfind("zero", 0) != 0 && strategy != "hsdp") return;
  // FSDP1's hybrid strategies shard inside a machine and replicate over machines.
  const bool hybrid1 = strategy == "hsdp" && run.fsdp_version != 2;
  if (hybrid1 && !mesh.dp_replicate && !mesh.dp_shard) {
    if (!is_small(run.nodes) || !is_small(run.processes_per_node)) return;
    mesh.dp_replicate = above_one(*run.nodes);
    mesh.dp_shard = above_one(*run.processes_per_node);
    return;
  }
  const long long copies = mesh.dp_replicate.value_or(1);
  if (!mesh.dp_shard && copies > 0 && ranks % copies == 0) mesh.dp_shard = above_one(ranks / copies);
}

// What follows from the fields that are set.
void complete(Effective& run, const Context& context) {
  if (!run.world_size && is_small(run.nodes) && is_small(run.processes_per_node))
    run.world_size = *run.nodes * *run.processes_per_node;
  if (!run.world_size) run.world_size = context.world_size();
  if (!run.processes_per_node && is_small(run.world_size) && is_small(run.nodes) && *run.world_size % *run.nodes == 0)
    run.processes_per_node = *run.world_size / *run.nodes;
  const auto ranks = data_ranks(run);
  if (ranks) complete_mesh(run, *ranks);
  if (!ranks || !is_small(run.micro_batch)) return;
  if (!run.global_batch && is_small(run.grad_accum)) run.global_batch = *run.micro_batch * *run.grad_accum * *ranks;
  const long long once = *run.micro_batch * *ranks;
  if (!run.grad_accum && is_small(run.global_batch) && *run.global_batch % once == 0)
    run.grad_accum = *run.global_batch / once;
}

}  // namespace

std::vector<const Origin*> EffectiveRun::of(std::string_view field) const {
  std::vector<const Origin*> out;
  for (const Origin& origin : origins) {
    if (origin.field == field) out.push_back(&origin);
  }
  return out;
}

EffectiveRun effective_run(const Input& input) {
  struct Reading {
    std::uint32_t formats;
    void (*read)(RunReader&);
  };
  static constexpr Reading readings[] = {
      {kAccelerateYaml | kAccelerateLaunch, read_accelerate_run},
      {kTrainerCli | kTrainingArgsJson | kFsdpConfigJson, read_trainer_run},
      {kLlamafactoryYaml, read_llamafactory_run},
      {kAxolotlYaml, read_axolotl_run},
      {kTorchtitanToml | kTorchtitanCli | kTorchtitanPython, read_torchtitan_run},
      {kTorchtuneYaml, read_torchtune_run},
      {kDeepspeedJson, read_deepspeed_run},
      {kVerlOverrides, read_verl_run},
      {kSlimeCli, read_slime_run},
      {kShell, read_launch_run},
      {kEnvFile, read_env_run},
      {kRunSpec, read_run_spec_run},
  };
  if (!input.applicable || input.document.error) return {};
  RunReader reader(input);
  for (const Reading& reading : readings) {
    if (input.is(reading.formats)) reading.read(reader);
  }
  complete(reader.run, input.context);
  return {std::move(reader.run), std::move(reader.origins)};
}

}  // namespace fx::knowledge
