#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "knowledge/code/names.h"
#include "knowledge/code_rules/checks.h"
#include "knowledge/code_rules/sharding.h"

namespace fx::knowledge::checks {

using namespace code;

namespace {

constexpr std::array<std::string_view, 9> kNotForFsdp1 = {
    "find_unused_parameters", "device_ids", "output_device",  "gradient_as_bucket_view", "static_graph",
    "broadcast_buffers",      "mp_policy",  "offload_policy", "reshard_after_forward"};
constexpr std::array<std::string_view, 12> kNotForFsdp2 = {
    "find_unused_parameters", "device_ids",         "output_device", "gradient_as_bucket_view",
    "auto_wrap_policy",       "mixed_precision",    "cpu_offload",   "sharding_strategy",
    "use_orig_params",        "sync_module_states", "device_id",     "limit_all_gathers"};
constexpr std::array<std::string_view, 3> kFsdp1Members = {"no_sync", "clip_grad_norm_", "summon_full_params"};
constexpr std::array<std::string_view, 4> kFsdp2Members = {"set_requires_gradient_sync", "set_reshard_after_backward",
                                                           "set_is_last_backward", "set_requires_all_reduce"};
constexpr std::array<std::string_view, 11> kRetired = {"state_dict_type",
                                                       "set_state_dict_type",
                                                       "full_optim_state_dict",
                                                       "sharded_optim_state_dict",
                                                       "shard_full_optim_state_dict",
                                                       "scatter_full_optim_state_dict",
                                                       "rekey_optim_state_dict",
                                                       "flatten_sharded_optim_state_dict",
                                                       "save_state_dict",
                                                       "load_state_dict",
                                                       "get_state_dict_type"};
constexpr std::string_view kFsdp1Class = "torch.distributed.fsdp.FullyShardedDataParallel.";
constexpr std::string_view kDcp = "torch.distributed.checkpoint.";

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// A keyword that belongs to the other API, or a policy object of the other one.
std::string wrong_argument(const Event& shard) {
  const bool fsdp2 = is_fsdp2(shard);
  for (const Argument& argument : shard.arguments->list) {
    if (fsdp2 ? holds(kNotForFsdp2, argument.name) : holds(kNotForFsdp1, argument.name))
      return "the argument " + std::string(argument.name);
    const std::string_view made = last_part(main_of(argument.value)->callee);
    if (fsdp2 && (made == "MixedPrecision" || made == "CPUOffload")) return std::string(made);
    if (!fsdp2 && (made == "MixedPrecisionPolicy" || made == "CPUOffloadPolicy")) return std::string(made);
  }
  return {};
}

// FSDP2 alone: no wrapper of another kind in sight of this object.
bool is_only(const Trace& trace, const Object* model, Sharding wanted) {
  if (model == nullptr || sharding_of(trace, model) != wanted) return false;
  return std::ranges::none_of(trace.events, [&](const Event& event) {
    const bool other =
        event.is(EventKind::kDdp) || (event.is(EventKind::kShard) && is_fsdp2(event) != (wanted == Sharding::kFsdp2));
    return other && same_model(event.subject, model);
  });
}

std::string_view retired_name(const Event& event) {
  const bool wrapper = event.receiver != nullptr && event.receiver->sharding == Sharding::kFsdp1;
  if (!wrapper && !event.callee.starts_with("torch.")) return {};
  const std::string_view last = last_part(event.callee);
  if (event.callee.starts_with(kFsdp1Class) && holds(kRetired, last)) return last;
  const bool dcp = event.callee.starts_with(kDcp) && event.callee.size() == kDcp.size() + last.size();
  if (dcp && (last == "save_state_dict" || last == "load_state_dict")) return last;
  if (wrapper && (event.callee == ".state_dict_type" || event.callee == ".set_state_dict_type")) return last;
  return {};
}

bool comes_before(const Event& a, const Event& b) {
  return a.file == b.file && a.line() < b.line();
}

}  // namespace

void fsdp_api_mix(const Program& program, Findings& findings) {
  std::set<std::string> seen;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      if (event.is(EventKind::kShard)) {
        if (const std::string wrong = wrong_argument(event);
            !wrong.empty() && seen.insert(std::string(event.callee) + wrong).second)
          findings.at(event, "Here: " + wrong + ".");
        continue;
      }
      if (event.is(EventKind::kEnter)) continue;  // a method of its own of that name
      const Object* model = event.receiver;
      if (event.callee == "torch.distributed.fsdp.FullyShardedDataParallel.summon_full_params" ||
          event.callee == "torch.distributed.fsdp.FullyShardedDataParallel.clip_grad_norm_")
        model = event.argument("module", 0);
      if (model == nullptr || model->type != Type::kModel) continue;
      const std::string member(last_part(event.callee));
      const bool wrong = (holds(kFsdp1Members, member) && is_only(trace, model, Sharding::kFsdp2)) ||
                         (holds(kFsdp2Members, member) && is_only(trace, model, Sharding::kFsdp1));
      if (wrong && seen.insert("." + member).second) findings.at(event, "Here: " + member + ".");
    }
  }
}

namespace {

bool is_retired(const Import& import) {
  return import.written.starts_with("torch.distributed._composable.fsdp") ||
         import.written.starts_with("torch.distributed._composable.fully_shard");
}

// One branch of a test of the version, or of a try; another branch imports the same from where it is now.
bool is_fallback(const SourceFile& file, const Import& import) {
  bool in_branch = false;
  for (Node up = import.node; up && !up.is("function_definition"); up = up.parent())
    in_branch |= up.is("if_statement") || up.is("try_statement");
  return in_branch && std::ranges::any_of(file.imports, [&](const Import& other) {
           return other.name == import.name && !is_retired(other) && other.written.starts_with("torch.distributed.");
         });
}

}  // namespace

namespace {

// try: dcp.save(...) except AttributeError: what older versions call it.
bool is_for_old_versions(const Event& event) {
  for (const Guard* guard = event.guard; guard != nullptr; guard = guard->outer) {
    const std::string_view clause = guard->test.text().substr(0, guard->test.text().find(':'));
    if (guard->kind == GuardKind::kExcept && (contains(clause, "AttributeError") || contains(clause, "ImportError")))
      return true;
  }
  return false;
}

}  // namespace

void deprecated_fsdp_api(const Program& program, Findings& findings) {
  for (const auto& file : program.files()) {
    const Import* first = nullptr;
    for (const Import& import : file->imports) {
      if (first == nullptr && is_retired(import) && !is_fallback(*file, import)) first = &import;
    }
    if (first != nullptr) findings.at(file.get(), first->node.parent(), "The import path is retired.");
  }
  std::vector<const Event*> uses;
  for (const Trace& trace : program.traces()) {
    for (const Event& event : trace.events) {
      const std::string_view name = retired_name(event);
      if (name.empty() || is_for_old_versions(event)) continue;
      auto known = std::ranges::find_if(uses, [&](const Event* use) { return retired_name(*use) == name; });
      if (known == uses.end())
        uses.push_back(&event);
      else if (comes_before(event, **known))
        *known = &event;
    }
  }
  for (const Event* use : uses) findings.at(*use, std::string(retired_name(*use)) + " is retired.");
}

}  // namespace fx::knowledge::checks
