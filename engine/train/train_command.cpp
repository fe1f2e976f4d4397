#include "engine/train/train_command.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/file.h"
#include "engine/comm/process_group.h"
#include "engine/device/device.h"
#include "engine/kernels/matmul.h"
#include "engine/train/watchdog.h"

namespace fx::engine {
namespace {

void set_threads(long long ranks) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  const auto cores = static_cast<long long>(std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(std::max<long long>(1, cores / std::max<long long>(1, ranks))));
}

Result<RunSpec> read_spec(const std::string& path) {
  auto text = read_file(path, std::size_t{4} << 20);
  if (!text) return text.error();
  auto parsed = parse_run_spec_text(*text);
  if (!parsed) return parsed.error();
  for (const auto& warning : parsed->warnings) std::fprintf(stderr, "fsdp-engine: ignored: %s\n", warning.c_str());
  return parsed->spec;
}

std::filesystem::path events_file(const RunSpec& spec) {
  const char* given = std::getenv("FX_EVENTS");
  return given != nullptr ? std::filesystem::path(given) : std::filesystem::path(spec.output) / "events.jsonl";
}

ErrorEvent event_of(const Error& error, std::string where = "") {
  ErrorEvent event;
  event.what = error.field.empty() ? error.message : error.field + ": " + error.message;
  event.where = std::move(where);
  event.hint = error.hint;
  return event;
}

ErrorEvent event_of(const CollectiveError& error) {
  ErrorEvent event;
  event.what = error.what();
  event.where = error.label;
  event.collective = error.collective;
  event.sequence = error.sequence;
  event.hint = "another rank ended or stands still: the rank without such a message is the one to look at";
  return event;
}

Result<std::unique_ptr<Collectives>> meet(const Rendezvous& meeting, at::Device device) {
  if (meeting.world_size == 1) return make_single(device);
  const auto transport = transport_from_environment();
  return transport ? connect(meeting, *transport, device) : transport.error();
}

// The training itself: whatever goes wrong becomes an error event, a line, and the rank's flight record.
int train(const RunSpec& spec, Collectives& comm, const Reporter& reporter, Watchdog& watchdog,
          const std::atomic<bool>& stop, const ModelFactory& make) {
  const auto rank_text = "rank " + std::to_string(comm.rank());
  try {
    auto done = run_training(spec, comm, reporter, stop, make);
    if (done) return 0;
    reporter.error(event_of(done.error(), comm.recorder().phase()));
    return print_failure(done.error());
  } catch (const CollectiveError& error) {
    reporter.error(event_of(error));
    watchdog.report(error.what());
    return info(ErrorCode::kUnavailable).exit_code;
  } catch (const std::exception& error) {
    const Error failure = internal_error(error.what());
    reporter.error(event_of(failure, comm.recorder().phase()));
    watchdog.report(rank_text + " failed by itself: " + failure.message);
    return print_failure(failure);
  }
}

}  // namespace

int print_failure(const Error& error) {
  std::fprintf(stderr, "fsdp-engine: %s\n", to_line(error).c_str());
  for (const auto& detail : error.details) std::fprintf(stderr, "  %s\n", to_line(detail).c_str());
  return info(error.code).exit_code;
}

int train_command(const std::string& spec_path, const std::atomic<bool>& stop, const ModelFactory& make) {
  auto meeting = rendezvous_from_environment();
  if (!meeting) return print_failure(meeting.error());
  auto spec = read_spec(spec_path);
  if (!spec) return print_failure(spec.error());
  const std::filesystem::path events = events_file(*spec);
  const Reporter reporter(events, meeting->rank);
  const auto report = [&](const Error& error) {
    reporter.error(event_of(error));
    return print_failure(error);
  };
  const auto device = choose_device();
  if (!device) return report(device.error());
  if (auto supported = check_supported(*spec, meeting->world_size, *device); !supported)
    return report(supported.error());
  set_threads(spec->ranks);
  limit_kept_kernels(spec->max_tokens_per_rank);
  auto comm = meet(*meeting, *device);
  if (!comm) return report(comm.error());
  const auto dump = events.parent_path() / flight_record_name(meeting->rank);
  std::error_code code;
  std::filesystem::remove(dump, code);  // of an earlier attempt in this folder
  Watchdog watchdog((*comm)->recorder(), stop, dump, meeting->timeout_s);
  const int exit_code = train(*spec, **comm, reporter, watchdog, stop, make);
  if (exit_code == 0) std::filesystem::remove(dump, code);
  return exit_code;
}

}  // namespace fx::engine
