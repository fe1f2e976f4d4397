#include "knowledge/log/phase.h"

#include <algorithm>
#include <array>

namespace fx::knowledge {
namespace {

struct Row {
  Phase phase;
  const char* pattern;
};

// Order matters: the first row that fits decides. Names of functions and files in torch, transformers, accelerate and
// trainers.
constexpr std::array kCode{
    Row{Phase::kSave, ".optim_state_dict(|_optim_utils*gather"},
    Row{Phase::kOptimizer,
        "optimizer.step|_optimizer_step|optimizer_step|_init_group|exp_avg|/optim/"
        "|_multi_tensor_|foreach_adam|load_optimizer|optim_state"
        "|optimizer.load_state_dict|set_optimizer_state_dict|fused_adam|_init_optim_state|state_steps|max_exp_avg|"
        "momentum_buffer"
        "|_single_tensor_|load_optim"},
    Row{Phase::kLoad,
        "from_pretrained|load_state_dict|load_pretrained|load_model|_load_shard|load_checkpoint|init_on_device|prepare_"
        "model|_init_utils"
        "|_flat_param.py*__init__|.to(device|.cuda()|model.to(|to_empty|materialize|fully_shard(|= fsdp(|return "
        "fsdp(|fsdp(model"
        "|build_model|get_model(|init_model|_move_states|_move_module|load_weights|set_model_state_dict|broadcast_full|_broadcast_tensors|_broadcast_state_dict|full_state.detach|_distribute_tensors|"
        "_sync_module"
        "|fsdp2_load_full|initialize_model|deepspeed.initialize|_materialize|quantize|load_file("},
    Row{Phase::kSave,
        "state_dict(|_state_dict_utils|save_checkpoint|save_model|save_pretrained|save_state|save_ckpt|_save|torch."
        "save|dcp.save|.save("
        "|full_tensor|_unshard_param|_post_state_dict|_pre_state_dict|get_model_state_dict|gather_state|summon_full_params|_unshard_"
        "fsdp_state|export_model"
        "|push_to_hub|consolidate|checkpointing.py"},
    Row{Phase::kGenerate, ".generate(|generate_sequences|_sample(|kv_cache|rollout(|/vllm/|/sglang/"},
    Row{Phase::kLogits,
        "float16_to_fp32|convert_to_fp32|convert_outputs_to_fp32|cross_entropy|logits|log_softmax|lm_head|logprob|log_prob|compute_loss|calculate_loss|loss_fn|nllloss|"
        "crossentropy|loss_function"
        "|entropy_from|selective_log|per_token_logps|_logps|logps(|softmax(|_ce.|vocab_parallel|output_layer|/loss"},
    Row{Phase::kBackward, ".backward(|autograd/__init__|run_backward|_backward|backward("},
    Row{Phase::kForward, "in forward|_call_impl|model(|checkpoint.py|self_attn|mlp(|attention|activation|forward("},
};

constexpr std::array kAnnounced{
    Row{Phase::kSave,
        "save_model(|save_checkpoint(|saving*checkpoint|saving model|saving state|saving current state|save checkpoint|writing "
        "checkpoint|gathering*state|saving fsdp"
        "|saving*state|retrieving*state dict|saving to|dcp.save|saving optimizer|model saved|saving "
        "weights|save_pretrained"
        "|saving final|exporting|saved checkpoint|ckpt*saving|begin saving|checkpoint*save "
        "started|train_runtime|push_to_hub|pushing to hub"},
    Row{Phase::kOptimizer,
        "optimizer.step|optimizer step|loading optimizer|restoring optimizer|load optimizer|resum*optimizer"},
    Row{Phase::kLoad,
        "loading checkpoint shards|loading model|loading weights|loading pretrained|load "
        "model|from_pretrained|applying fsdp|wrapping"
        "|model init|initializing model|building model|materializ|device_map|loading base model|loading "
        "safetensors|fetching*files"
        "|loading shards|init model"},
    Row{Phase::kGenerate, "generate sequences|generating|rollout step|rollout*start"},
};

template <std::size_t N>
Phase lookup(const std::array<Row, N>& rows, std::string_view low) {
  for (const auto& row : rows) {
    if (matches_any(row.pattern, low)) return row.phase;
  }
  return Phase::kUnknown;
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kUnknown:
      return "unknown";
    case Phase::kLoad:
      return "load";
    case Phase::kForward:
      return "forward";
    case Phase::kLogits:
      return "logits";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kSave:
      return "save";
    case Phase::kGenerate:
      return "generate";
  }
  return "unknown";
}

Phase phase_of_code(std::string_view low) {
  Phase phase = lookup(kCode, low);
  // What a result is called says less than the call that makes it.
  if (const auto assigned = low.find(" = "); phase == Phase::kLogits && assigned != std::string_view::npos &&
                                             low.substr(0, assigned).find('(') == std::string_view::npos) {
    const Phase called = lookup(kCode, low.substr(assigned + 3));
    if (called != Phase::kUnknown) phase = called;
  }
  // Inside attention a softmax is over scores, not over the vocabulary.
  const bool scores = phase == Phase::kLogits && matches_any("attn|attention|_scores|sdpa|scaled_dot_product", low);
  return scores ? Phase::kForward : phase;
}

Phase phase_of_frames(const LogBook& book, const std::vector<int>& frames) {
  const int line = telling_frame(book, frames);
  return line < 0 ? Phase::kUnknown : phase_of_code(book.at(line).low_body());
}

namespace {

// States are gathered and spread by the same functions when they are saved and when they are restored: the caller
// tells. -1: no caller restores.
int restoring_caller(const LogBook& book, const std::vector<int>& frames, int frame) {
  if (phase_of_code(book.at(frame).low_body()) != Phase::kSave) return -1;
  const auto found = std::find_if(frames.begin(), frames.end(), [&](int outer) {
    return outer < frame && matches_any(
                                "load_optim|_to_load|load_fsdp|load_checkpoint|load_model|from_pretrained|"
                                "load_state_dict|restore_",
                                book.at(outer).low_body());
  });
  return found == frames.end() ? -1 : *found;
}

}  // namespace

namespace {

// A trainer's call around the model's whole forward, of which the loss is the last part.
bool around_forward(std::string_view low) {
  return matches_any("compute_loss(|calculate_loss(|in compute_loss|in calculate_loss", low) &&
         !matches_any("logit|lm_head|entropy|softmax|logp", low);
}

}  // namespace

int telling_frame(const LogBook& book, const std::vector<int>& frames) {
  // A plain "forward" frame inside tells less than the backward, save or load that called it.
  int forward = -1;
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) {
    const Phase phase = phase_of_code(book.at(*it).low_body());
    if (phase == Phase::kForward) {
      if (forward < 0) forward = *it;
    } else if (phase == Phase::kLogits && forward >= 0 && around_forward(book.at(*it).low_body())) {
      continue;
    } else if (phase != Phase::kUnknown) {
      const int caller = restoring_caller(book, frames, *it);
      return caller < 0 ? *it : caller;
    }
  }
  return forward;
}

Phase phase_announced(std::string_view low) {
  return lookup(kAnnounced, low);
}

}  // namespace fx::knowledge
