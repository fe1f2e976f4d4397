#include "spec/event.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "spec/fields.h"

namespace fx {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"start", "step", "checkpoint", "finish", "error"};

const Fields<StartEvent>& fields_for(const StartEvent&) {
  static const auto fields =
      Fields<StartEvent>{}
          .add("ranks", &StartEvent::ranks, "processes")
          .required()
          .add("steps", &StartEvent::steps, "steps at the end of the run")
          .required()
          .add("first_step", &StartEvent::first_step, "steps done before")
          .add("parameters", &StartEvent::parameters, "of the model")
          .add("backend", &StartEvent::backend, "of the collectives")
          .add("param_dtype", &StartEvent::param_dtype, "of compute")
          .add("reduce_dtype", &StartEvent::reduce_dtype, "of gradient reduction")
          .add("packs", &StartEvent::packs, "in the data set")
          .add("documents", &StartEvent::documents, "in the data set")
          .add("product_gflops", &StartEvent::product_gflops, "of one rank's matrix products on this machine")
          .add("trained", &StartEvent::trained, "parameters that are trained");
  return fields;
}

const Fields<StepEvent>& fields_for(const StepEvent&) {
  static const auto fields = Fields<StepEvent>{}
                                 .add("step", &StepEvent::step, "1 for the first")
                                 .required()
                                 .add("loss", &StepEvent::loss, "mean over valid tokens")
                                 .add("grad_norm", &StepEvent::grad_norm, "before clipping")
                                 .add("lr", &StepEvent::lr, "learning rate")
                                 .add("tokens", &StepEvent::tokens, "over all ranks")
                                 .add("tokens_per_s", &StepEvent::tokens_per_s, "over all ranks")
                                 .add("comm_ms", &StepEvent::comm_ms, "waited for collectives")
                                 .add("comm_bytes", &StepEvent::comm_bytes, "sent by one rank")
                                 .add("peak_bytes", &StepEvent::peak_bytes, "resident memory per rank");
  return fields;
}

const Fields<CheckpointEvent>& fields_for(const CheckpointEvent&) {
  static const auto fields = Fields<CheckpointEvent>{}
                                 .add("step", &CheckpointEvent::step, "saved after")
                                 .required()
                                 .add("path", &CheckpointEvent::path, "complete folder")
                                 .add("seconds", &CheckpointEvent::seconds, "training stood still")
                                 .add("bytes", &CheckpointEvent::bytes, "written")
                                 .add("write_seconds", &CheckpointEvent::write_seconds, "in the background");
  return fields;
}

const Fields<FinishEvent>& fields_for(const FinishEvent&) {
  static const auto fields = Fields<FinishEvent>{}
                                 .add("step", &FinishEvent::step, "the last one")
                                 .required()
                                 .add("state", &FinishEvent::state, "how it ended")
                                 .one_of({"succeeded", "stopped"})
                                 .required()
                                 .add("output", &FinishEvent::output, "HF folder")
                                 .add("seconds", &FinishEvent::seconds, "of the run");
  return fields;
}

const Fields<ErrorEvent>& fields_for(const ErrorEvent&) {
  static const auto fields = Fields<ErrorEvent>{}
                                 .add("rank", &ErrorEvent::rank, "that failed")
                                 .required()
                                 .add("what", &ErrorEvent::what, "went wrong")
                                 .required()
                                 .add("where", &ErrorEvent::where, "phase")
                                 .add("collective", &ErrorEvent::collective, "it was in")
                                 .add("sequence", &ErrorEvent::sequence, "collectives begun before")
                                 .add("hint", &ErrorEvent::hint, "what to do");
  return fields;
}

template <class Body>
Result<Event> read_body(const Json& json, long long time_ms) {
  auto body = fields_for(Body{}).parse(json);
  if (!body) return body.error();
  return Event{time_ms, std::move(*body)};
}

Result<Event> read_kind(const std::string& kind, const Json& json, long long time_ms) {
  if (kind == "start") return read_body<StartEvent>(json, time_ms);
  if (kind == "step") return read_body<StepEvent>(json, time_ms);
  if (kind == "checkpoint") return read_body<CheckpointEvent>(json, time_ms);
  if (kind == "finish") return read_body<FinishEvent>(json, time_ms);
  if (kind == "error") return read_body<ErrorEvent>(json, time_ms);
  return invalid_argument("event", "unknown event \"" + quote_input(kind, 40) + "\"");
}

}  // namespace

std::string flight_record_name(long long rank) {
  return "flight_rank_" + std::to_string(rank) + ".json";
}

std::string_view kind_of(const Event& event) {
  return kKinds.at(event.body.index());
}

Json to_json(const Event& event) {
  Json out = {{"event", kind_of(event)}, {"time_ms", event.time_ms}};
  std::visit([&](const auto& body) { fields_for(body).write(body, out); }, event.body);
  return out;
}

std::string to_event_line(const Event& event) {
  return to_text(to_json(event)) + "\n";
}

Result<Event> parse_event(std::string_view line) {
  const auto json = parse_json(line, {8, std::size_t{1} << 20});
  if (!json) return json.error();
  if (!json->is_object() || !json->contains("event") || !(*json)["event"].is_string()) {
    return invalid_argument("event", "not an event line");
  }
  const bool timed = json->contains("time_ms") && (*json)["time_ms"].is_number_integer();
  return read_kind((*json)["event"].get<std::string>(), *json, timed ? (*json)["time_ms"].get<long long>() : 0);
}

EventBatch read_events(std::string_view text) {
  EventBatch batch;
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', batch.consumed)) {
    const std::string_view line = trim(text.substr(batch.consumed, end - batch.consumed));
    batch.consumed = end + 1;
    if (line.empty()) continue;
    if (auto event = parse_event(line)) {
      batch.events.push_back(std::move(*event));
    } else {
      ++batch.skipped;
    }
  }
  return batch;
}

}  // namespace fx
