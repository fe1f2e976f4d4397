#include "engine/train/dry_run.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>

#include "engine/memory/size_meter.h"
#include "engine/train/optimizer.h"
#include "engine/train/policy.h"

namespace fx::engine {
namespace {

constexpr const char* kPhases[] = {"start", "forward", "head and loss", "backward"};
// Of a step's micro-batches the first, one in the middle and the last differ; those in the middle are all alike.
constexpr std::int64_t kDifferent = 3;

std::int64_t most_tokens(const RunSpec& spec) {
  return spec.data.dynamic() ? spec.max_tokens_per_rank : spec.packs_per_micro_batch() * spec.data.max_seq_len;
}

// Full of the longest documents. Labels are real: which tokens have one decides how much is computed.
Batch full_batch(const RunSpec& spec) {
  const std::int64_t tokens = most_tokens(spec), max_seq_len = spec.data.max_seq_len;
  Batch batch;
  const at::TensorOptions sizes = at::TensorOptions().dtype(at::kLong).device(at::kMeta);
  batch.tokens = at::empty({tokens}, sizes);
  batch.positions = at::empty({tokens}, sizes);
  batch.labels = at::zeros({tokens}, at::kLong);
  for (std::int64_t start = 0; start < tokens; start += max_seq_len) batch.starts.push_back(start);
  batch.starts.push_back(tokens);
  if (spec.lora && spec.lora->dropout > 0) batch.draws = batch.positions;
  return batch;
}

std::int64_t micro_batches(const RunSpec& spec) {
  const std::int64_t at_once = spec.ranks * spec.packs_per_micro_batch();
  return std::max<std::int64_t>(1, (spec.global_batch_size + at_once - 1) / at_once);
}

void add(TrafficLog& total, const TrafficLog& more, std::int64_t times) {
  for (const Traffic& row : more) {
    auto same = std::find_if(total.begin(), total.end(), [&](const Traffic& t) {
      return t.phase == row.phase && t.group == row.group && t.operation == row.operation;
    });
    if (same == total.end())
      same = total.insert(total.end(), {row.phase, row.group, row.operation, row.ranks, 0, 0, 0});
    same->calls += times * row.calls;
    same->bytes_sent += times * row.bytes_sent;
    same->largest_bytes = std::max(same->largest_bytes, row.largest_bytes);
  }
}

// The gradients of one step, as the training loop orders them.
TrafficLog one_step(ShardedModel& sharded, const RunSpec& spec, std::int64_t count, TrafficLog& log) {
  const Batch batch = full_batch(spec);
  const std::int64_t played = std::min(count, kDifferent);
  TrafficLog total;
  for (std::int64_t m = 0; m < played; ++m) {
    const bool last = m + 1 == played;
    const bool reduce = spec.fsdp.reduce_each_micro_batch || last;
    log.clear();
    sharded.accumulate(batch, 1.0f, reduce ? GradientSync::kFull : GradientSync::kNone, last);
    add(total, log, played == kDifferent && m == 1 ? count - kDifferent + 1 : 1);
  }
  return total;
}

}  // namespace

DryRun dry_run(const Model& model, const RunSpec& spec) {
  DryRun out;
  out.ranks = spec.ranks;
  out.micro_batches = micro_batches(spec);
  out.tokens = most_tokens(spec);
  for (const auto& group : model.groups()) {
    for (const auto& param : make_layout(group.params, 1).params) {
      out.parameters += param.numel();
      if (param.def.trainable) out.trained_parameters += param.numel();
    }
  }
  TrafficLog log;
  const auto comm = make_fake(static_cast<int>(spec.ranks), log);
  FlightRecorder& recorder = comm->recorder();
  recorder.enter("start");
  SizeMeter meter([&] {
    std::string phase = recorder.phase();
    return phase.substr(0, phase.find(','));
  });
  ShardedModel sharded(model, policy_of(spec.fsdp), *comm);
  out.master_bytes = meter.bytes();
  const AdamW optimizer(spec.optimizer, sharded.groups());
  out.optimizer_bytes = meter.bytes() - out.master_bytes;
  out.traffic = one_step(sharded, spec, out.micro_batches, log);
  out.gradient_bytes = meter.bytes() - out.master_bytes - out.optimizer_bytes;
  for (const char* phase : kPhases) out.phases.push_back({phase, meter.peaks().at(phase)});
  out.phases.push_back({"optimizer", meter.bytes()});  // updates in place: makes nothing
  return out;
}

}  // namespace fx::engine
