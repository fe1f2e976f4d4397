#include "engine/train/loop.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/file.h"
#include "engine/data/batches.h"
#include "engine/device/device.h"
#include "engine/kernels/matmul.h"
#include "engine/lora/adapted_model.h"
#include "engine/lora/adapters.h"
#include "engine/train/checkpoint_schedule.h"
#include "engine/train/finite.h"
#include "engine/train/policy.h"

namespace fx::engine {
namespace {

at::Tensor to_tensor(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}

Batch to_batch(const MicroBatch& micro, const at::Tensor& draws, at::Device device) {
  return {to_tensor(micro.ids).to(device), to_tensor(micro.labels), to_tensor(micro.positions).to(device),
          micro.document_offsets, draws};
}

LongDocuments long_documents(const std::string& choice) {
  return choice == "split" ? LongDocuments::kSplit : choice == "refuse" ? LongDocuments::kRefuse : LongDocuments::kCut;
}

// The documents of a run and how they make up steps.
struct Data {
  TokenFile file;
  PackPlan packs;
  BatchPlan batches;
  long long steps = 0;
};

Result<Data> open_data(const RunSpec& spec, int world_size) {
  auto file = TokenFile::open(spec.data.path);
  if (!file) return file.error();
  const auto seed = static_cast<std::uint64_t>(spec.seed);
  auto packs = pack_documents(*file, {spec.data.max_seq_len, spec.data.packing && !spec.data.dynamic(), seed,
                                      long_documents(spec.data.long_documents)});
  if (!packs) return packs.error();
  BatchPlan batches(packs->lengths(), {world_size, spec.global_batch_size, spec.packs_per_micro_batch(), seed,
                                       spec.data.dynamic() ? spec.max_tokens_per_rank : 0});
  if (spec.epochs) batches.end_after_epochs(*spec.epochs);
  const long long steps = spec.steps ? *spec.steps : batches.steps_for_epochs(*spec.epochs);
  return Data{std::move(*file), std::move(*packs), std::move(batches), steps};
}

class Run {
 public:
  Run(const RunSpec& spec, Collectives& comm, const Reporter& reporter, const HfFolder& folder, const Data& data,
      const ModelFactory& make)
      : spec_(spec),
        comm_(comm),
        reporter_(reporter),
        folder_(folder),
        data_(data),
        model_(with_adapters(make(folder.shape()), folder.shape(), spec.lora)),
        sharded_(*model_, policy_of(spec.fsdp), comm),
        optimizer_(spec.optimizer, sharded_.groups()),
        checkpoints_(spec, sharded_.groups(), optimizer_, sharded_.mesh(), reporter) {}

  Result<void> load() {
    if (auto loaded = agree(comm_, "loading the model", load_start()); !loaded) return loaded;
    const auto checkpoint = spec_.checkpoint.resume ? newest_checkpoint(checkpoint_root(spec_.output)) : std::nullopt;
    if (checkpoint) {
      first_step_ = checkpoint->step;
      if (auto loaded = load_checkpoint(*checkpoint, sharded_.groups(), optimizer_, sharded_.mesh()); !loaded)
        return loaded;
    }
    reporter_.report(StartEvent{
        comm_.size(), data_.steps, first_step_, parameter_count(folder_.shape()), comm_.backend(),
        spec_.fsdp.param_dtype, spec_.fsdp.reduce_dtype, static_cast<long long>(data_.packs.packs.size()),
        static_cast<long long>(data_.file.info().documents),
        comm_.device().is_cpu() ? product_gflops(scalar_type(spec_.fsdp.param_dtype)) : 0,
        spec_.lora ? adapter_parameter_count(folder_.shape(), *spec_.lora) : parameter_count(folder_.shape())});
    return {};
  }

  Result<void> run(const std::atomic<bool>& stop) {
    const std::int64_t began = monotonic_millis();
    bool stopping = false;
    long long step = first_step_;
    for (; step < data_.steps && !stopping; ++step) {
      auto stopped = one_step(step, stop);
      if (!stopped) {
        (void)checkpoints_.finish().has_value();  // the step's own error says more
        return stopped.error();
      }
      stopping = *stopped;
      if (auto saved = checkpoints_.after_step(step + 1, stopping); !saved) return saved;
    }
    if (auto saved = checkpoints_.finish(); !saved) return saved;
    if (!stopping) {
      comm_.recorder().enter("saving the model");
      if (auto saved = save_result(); !saved) return saved;
    }
    const double seconds = static_cast<double>(monotonic_millis() - began) / 1000;
    reporter_.report(FinishEvent{step, stopping ? "stopped" : "succeeded", stopping ? "" : spec_.output, seconds});
    return {};
  }

 private:
  Result<void> load_start() {
    if (!spec_.lora) return load_weights(folder_, sharded_.groups());
    auto loaded = load_weights(folder_, sharded_.groups(), Weights::kFrozen);
    if (!loaded) return loaded;
    return load_adapters(folder_.shape(), *spec_.lora, static_cast<std::uint64_t>(spec_.seed), sharded_.groups());
  }

  Result<void> save_result() {
    if (!spec_.lora) return save_model(folder_, sharded_.groups(), sharded_.mesh(), spec_.output);
    return save_adapters(folder_, *spec_.lora, sharded_.groups(), sharded_.mesh(), spec_.output);
  }

  // Undefined when nothing is random.
  at::Tensor draws_of(const MicroBatch& micro, long long step) const {
    if (!spec_.lora || spec_.lora->dropout == 0) return {};
    return dropout_rows(micro.origins, static_cast<std::uint64_t>(spec_.seed), static_cast<std::uint64_t>(step));
  }

  // True when any rank was asked to stop.
  Result<bool> one_step(long long step, const std::atomic<bool>& stop) {
    const std::int64_t began = monotonic_millis();
    sharded_.mesh().reset_stats();
    const auto valid = trained_tokens(data_.file, data_.packs, data_.batches.packs_of_step(step));
    const float scale = 1.0f / static_cast<float>(std::max<std::int64_t>(1, valid));
    double loss = 0, tokens = 0;
    std::optional<Error> bad;
    const std::int64_t micro_batches = data_.batches.micro_batches(step);
    for (std::int64_t m = 0; m < micro_batches; ++m) {
      comm_.recorder().enter("data");
      auto micro = make_micro_batch(data_.file, data_.packs, data_.batches.packs_of(step, m, comm_.rank()),
                                    folder_.shape().vocab);
      if (!micro) {  // go on with a dummy, so that the others are not left waiting; the step's end tells them
        bad = micro.error();
        micro = make_micro_batch(data_.file, data_.packs, {}, folder_.shape().vocab);
        if (!micro) return micro.error();
      }
      if (micro->trained > 0 || micro->ids.size() > 1) tokens += static_cast<double>(micro->ids.size());
      const bool last = m + 1 == micro_batches;
      const bool reduce = spec_.fsdp.reduce_each_micro_batch || last;
      loss += sharded_.accumulate(to_batch(*micro, draws_of(*micro, step), comm_.device()), scale,
                                  reduce ? GradientSync::kFull : GradientSync::kNone, last);
    }
    comm_.recorder().enter("step end");
    const double failed_rank = bad ? comm_.rank() + 1 : 0;
    at::Tensor sums = at::tensor({loss, tokens, stop.load() ? 1.0 : 0.0, failed_rank}, at::kDouble);
    comm_.all_reduce_sum("step result", sums);
    const double* total = sums.const_data_ptr<double>();
    if (bad) return *bad;
    if (total[3] > 0) return unavailable("another rank's batch was unusable", "see the other ranks' logs");
    const double mean = total[0] / static_cast<double>(std::max<std::int64_t>(1, valid));
    const double norm = clip_gradients(sharded_.groups(), spec_.optimizer.clip_grad, sharded_.mesh());
    if (!std::isfinite(mean) || !std::isfinite(norm)) {
      return not_finite_error(step + 1, mean, sharded_.groups(), comm_);
    }
    comm_.recorder().enter("optimizer");
    const double lr = learning_rate(spec_.optimizer, step, data_.steps);
    optimizer_.step(lr);
    const double seconds = static_cast<double>(std::max<std::int64_t>(1, monotonic_millis() - began)) / 1000;
    report_step(step + 1, mean, norm, lr, total[1], seconds);
    return total[2] > 0;
  }

  void report_step(long long step, double loss, double norm, double lr, double tokens, double seconds) {
    const CommStats stats = sharded_.mesh().stats();
    at::Tensor peaks = at::empty({comm_.size()}, at::kDouble);
    at::Tensor mine = at::tensor({static_cast<double>(peak_bytes_on(comm_.device()))}, at::kDouble);
    comm_.all_gather("peak memory", peaks, mine).wait();
    const double* values = peaks.const_data_ptr<double>();
    reporter_.report(StepEvent{step, loss, norm, lr, static_cast<long long>(tokens), tokens / seconds,
                               stats.wait_seconds * 1000, stats.bytes_sent,
                               std::vector<double>(values, values + comm_.size())});
  }

  const RunSpec& spec_;
  Collectives& comm_;
  const Reporter& reporter_;
  const HfFolder& folder_;
  const Data& data_;
  std::unique_ptr<Model> model_;
  ShardedModel sharded_;
  AdamW optimizer_;
  CheckpointSchedule checkpoints_;
  long long first_step_ = 0;
};

}  // namespace

Result<void> check_supported(const RunSpec& spec, int world_size, at::Device device) {
  std::vector<Error> errors;
  if (spec.ranks != world_size) {
    errors.push_back(invalid_argument(
        "ranks",
        "the spec says " + std::to_string(spec.ranks) + " ranks, but WORLD_SIZE is " + std::to_string(world_size),
        "start as many ranks as the spec says"));
  }
  if (spec.data.format != "tokens") {
    errors.push_back(
        unsupported("data.format", "the engine reads token files only",
                    "make one with engine/data/tokenize.py, or start the run with fsdp-expert launch, which does"));
  }
  if (spec.fsdp.cpu_offload && device.is_cpu()) {
    errors.push_back(unsupported("fsdp.cpu_offload",
                                 "the ranks compute on the CPU: the shards are in host memory already", "use false"));
  }
  if (errors.empty()) return {};
  return combine(std::move(errors));
}

Result<void> run_training(const RunSpec& spec, Collectives& comm, const Reporter& reporter,
                          const std::atomic<bool>& stop, const ModelFactory& make) {
  comm.recorder().enter("load");
  auto folder = HfFolder::open(spec.model);
  Result<void> opened = folder ? Result<void>() : Result<void>(folder.error());
  if (auto all = agree(comm, "opening the model", opened); !all) return all;
  auto data = open_data(spec, comm.size());
  opened = data ? make_folder(spec.output) : Result<void>(data.error());
  if (auto all = agree(comm, "opening the data", opened); !all) return all;
  Run run(spec, comm, reporter, *folder, *data, make);
  if (auto loaded = run.load(); !loaded) return loaded;
  return run.run(stop);
}

}  // namespace fx::engine
