// Answers about memory: what the peak is, who holds it, what would change it.
#include "knowledge/plan/answers.h"

#include <cstdarg>
#include <cstdio>

#include "knowledge/plan/resolve.h"
#include "knowledge/plan/states.h"

namespace fx::knowledge::plan {

std::string words(const char* format, ...) {
  char text[700];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

namespace {

std::string peak(const Plan& p) {
  const MemoryPlan& m = p.chosen.memory;
  std::string parts;
  for (const auto& [name, bytes] : m.components) {
    if (bytes > 0.1 * m.allocated) parts += ", " + std::string(name) + " " + gib_text(bytes);
  }
  return words("%.1f GiB allocated at %s (range %.1f to %.1f GiB)%s.", m.allocated / kGib,
               std::string(m.peak_moment).c_str(), m.low / kGib, m.high / kGib, parts.c_str());
}

std::string wrapping(const Plan& p) {
  const Setting& s = p.chosen.setting;
  const RankModel r = rank_model(p.shape, p.count, s);
  const double unit = (2 * s.param_bytes * r.layer_params + s.param_bytes * r.root_params) / kGib;
  const double all = s.param_bytes * r.params() / kGib;
  const double grads = is_lora(s) ? 0 : (s.param_bytes + s.reduce_bytes) * r.params() / kGib;
  return words(
      "Wrapped block by block, two blocks and the root unit are gathered at once: %.2f GiB. Wrapped as one unit the "
      "whole model would be: %.2f GiB, and %.2f GiB of unsharded gradients before their reduction.",
      unit, all, grads);
}

std::string dominating_module(const Plan& p) {
  const ParamCount& c = p.count;
  const double sparse = p.shape.is_moe() ? p.shape.layers - p.shape.dense_layers : 0;
  const double mlp = (p.shape.layers - sparse) * c.dense_mlp + sparse * c.moe_mlp;
  const double attention = p.shape.layers * c.attention, ends = c.embedding + c.head + c.positions;
  const char* most = mlp >= attention && mlp >= ends ? (sparse > 0 ? "The experts" : "The MLPs")
                     : attention >= ends             ? "Attention"
                                                     : "Embedding and output head";
  const LayerActivations a = layer_activations(p.shape, p.chosen.setting);
  const double logits = logits_bytes(p.shape, p.chosen.setting) * p.shape.vocab / p.chosen.setting.tp;
  return words(
      "%s dominate the parameters: MLP %.2f, attention %.2f, embedding and head %.2f billion. For each token a block "
      "keeps %.0f KB for backward without checkpointing, all blocks %.0f KB, the loss %.0f KB.",
      most, mlp / 1e9, attention / 1e9, ends / 1e9, a.saved / 1e3, a.saved * p.shape.layers / 1e3, logits / 1e3);
}

std::string unsharded_holders(const Plan& p) {
  const Setting& s = p.chosen.setting;
  const RankModel r = rank_model(p.shape, p.count, s);
  const States st = count_states(r, s, p.machine);
  if (!is_fsdp(s.sharding)) {
    return words("Every rank: weights %.2f GiB and gradients %.2f GiB are whole on each GPU, optimizer state %.2f GiB.",
                 st.weights / kGib, st.grads / kGib, st.optimizer / kGib);
  }
  return words(
      "Gathered units %.2f GiB (of it embedding, head and final norm, gathered from forward to the end of backward, "
      "%.2f), parameters kept between forward and backward %.2f, one unit's gradient before its reduction %.2f, whole "
      "gradients between micro-batches %.2f GiB.",
      st.gathered / kGib, s.param_bytes * r.root_params / kGib, st.kept_gathered / kGib, st.unit_grad / kGib,
      st.whole_grads / kGib);
}

std::string checkpointing_releases(const Plan& p) {
  const Setting& s = p.chosen.setting;
  const RankModel r = rank_model(p.shape, p.count, s);
  const LayerActivations layer = layer_activations(p.shape, s);
  const auto kept = [&](Checkpointing c) {
    Setting x = s;
    x.checkpointing = c;
    return kept_activations(r, layer, x).kept * s.tokens() / kGib;
  };
  const double none = kept(Checkpointing::kNone), now = kept(s.checkpointing);
  return words(
      "Forward keeps %.2f GiB of activations (checkpointing: %s), %.2f GiB without checkpointing: it %s. Measured more than "
      "that? Then a hook, a list of outputs or a graph of an earlier step holds tensors.",
      now, std::string(to_string(s.checkpointing)).c_str(), none,
      now < none ? words("releases %.2f GiB", none - now).c_str() : "releases nothing");
}

std::string checkpointing_policy(const Plan& p) {
  std::string out = "At this micro-batch:";
  for (const Checkpointing c : {Checkpointing::kNone, Checkpointing::kSelective, Checkpointing::kFull}) {
    const Candidate x = variant(p, [c](Setting& s) { s.checkpointing = c; });
    out += words(" %s %.1f GiB and %.0f tokens/s%s;", std::string(to_string(c)).c_str(), x.memory.allocated / kGib,
                 x.speed.tokens_per_s, x.memory.fits ? "" : " (does not fit)");
  }
  out.back() = '.';
  return out + " Take the first that fits; recomputation pays only where it allows a larger micro-batch or fewer GPUs.";
}

std::string offload(const Plan& p) {
  const Setting& s = p.chosen.setting;
  if (p.machine.cpu) return "Nothing to offload: the run computes in host memory.";
  if (!is_fsdp(s.sharding) && !s.offload) {
    return words("Not for %s; the states that it would move are %.1f GiB a GPU.",
                 std::string(to_string(s.sharding)).c_str(), states_bytes(p) / kGib);
  }
  const Candidate on = variant(p, [](Setting& x) { x.offload = true; });
  const Candidate off = variant(p, [](Setting& x) { x.offload = false; });
  return words(
      "It moves %.1f GiB of state a GPU to the host (%.0f GiB a machine): %.1f instead of %.1f GiB on the GPU, %.0f "
      "instead of %.0f tokens/s. %s",
      states_bytes(p) / kGib, on.memory.host / kGib, on.memory.allocated / kGib, off.memory.allocated / kGib,
      on.speed.tokens_per_s, off.speed.tokens_per_s,
      off.memory.fits ? "It fits without, so leave it off." : "It does not fit without.");
}

std::string reduce_dtype(const Plan& p) {
  const Candidate fp32 = variant(p, [](Setting& s) { s.reduce_bytes = 4; });
  const Candidate low = variant(p, [](Setting& s) { s.reduce_bytes = 2; });
  return words(
      "Reducing in bf16 instead of fp32 saves %.2f GiB at the peak and %.1f ms of communication a micro-batch. Keep fp32 "
      "unless communication binds: sums over %.0f ranks lose bits in bf16.",
      (fp32.memory.allocated - low.memory.allocated) / kGib, 1e3 * (fp32.speed.comm_s - low.speed.comm_s),
      shards_of(p.chosen.setting, p.machine).data_parallel);
}

std::string mixed_precision(const Plan& p) {
  const Candidate fp32 =
      variant(p, [](Setting& s) { s.param_bytes = s.master_bytes = s.reduce_bytes = 4, s.fp8 = false; });
  const Candidate mixed = variant(p, [](Setting& s) { s.param_bytes = 2, s.master_bytes = s.reduce_bytes = 4; });
  const Candidate pure =
      variant(p, [](Setting& s) { s.param_bytes = s.master_bytes = s.reduce_bytes = 2, s.amp = false; });
  return words(
      "fp32 compute %.1f GiB and %.0f tokens/s; 2-byte compute with fp32 master weights %.1f GiB and %.0f tokens/s; all "
      "in 2 bytes %.1f GiB and %.0f tokens/s. States are sharded, so the master weights cost little when GPUs are many.",
      fp32.memory.allocated / kGib, fp32.speed.tokens_per_s, mixed.memory.allocated / kGib, mixed.speed.tokens_per_s,
      pure.memory.allocated / kGib, pure.speed.tokens_per_s);
}

}  // namespace

Candidate variant(const Plan& plan, const std::function<void(Setting&)>& change) {
  Setting s = plan.chosen.setting;
  change(s);
  return evaluate(plan.shape, plan.count, s, plan.machine);
}

double states_bytes(const Plan& plan) {
  const States st =
      count_states(rank_model(plan.shape, plan.count, plan.chosen.setting), plan.chosen.setting, plan.machine);
  return st.weights + st.grads + st.optimizer;
}

void set_answers(Plan& plan) {
  plan.answers = {{"peak_memory", peak(plan)},
                  {"wrapping", wrapping(plan)},
                  {"best_batch", best_batch(plan)},
                  {"longest_sequence", longest_sequence(plan)},
                  {"fewest_gpus", fewest_gpus(plan)},
                  {"cpu_offload", offload(plan)},
                  {"checkpointing_policy", checkpointing_policy(plan)},
                  {"reduce_dtype", reduce_dtype(plan)},
                  {"mixed_precision", mixed_precision(plan)},
                  {"when_hsdp", when_hsdp(plan)},
                  {"smaller_reshard_mesh", smaller_reshard_mesh(plan)},
                  {"keep_after_forward", keep_after_forward(plan)},
                  {"dominating_module", dominating_module(plan)},
                  {"who_holds_unsharded", unsharded_holders(plan)},
                  {"checkpointing_releases", checkpointing_releases(plan)}};
}

}  // namespace fx::knowledge::plan
