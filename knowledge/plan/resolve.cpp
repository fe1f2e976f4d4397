#include "knowledge/plan/resolve.h"

#include <algorithm>
#include <cmath>

#include "knowledge/plan/lora.h"

namespace fx::knowledge::plan {
namespace {

constexpr double kDefaultSeqLen = 4096;

double dtype_bytes(const std::string& name) {
  return name == "fp32" ? 4 : 2;
}

template <class E>
E choice(const std::string& word, const std::vector<E>& all) {
  for (const E value : all) {
    if (to_string(value) == word) return value;
  }
  return all.front();
}

Sharding sharding_of(const std::string& word) {
  if (word == "fsdp") return Sharding::kFsdp2;
  using S = Sharding;
  return choice<S>(word,
                   {S::kNone, S::kDdp, S::kZero1, S::kZero2, S::kZero3, S::kFsdp1, S::kFsdp2, S::kHsdp, S::kMegatron});
}

Quant quant_of(const std::string& word) {
  if (word == "nf4") return Quant::kNf4;
  if (word == "nf4-dq") return Quant::kNf4Double;
  if (word == "gptq-int4") return Quant::kGptqInt4;
  return word == "int8" ? Quant::kInt8 : Quant::kNone;
}

void set_method(const TrainingArgs& t, const ModelShape& shape, const ParamCount& count, Resolved& out) {
  Setting& s = out.setting;
  const std::string quant = t.base_quant.value_or("none");
  const std::string method = t.method.value_or(quant != "none" ? "qlora" : t.lora_rank ? "lora" : "full");
  s.method = choice<Method>(method, {Method::kFull, Method::kLora, Method::kQlora});
  out.open.method = !t.method && s.method == Method::kFull;
  if (s.method == Method::kFull) return;
  s.quant = s.method == Method::kQlora ? quant_of(quant == "none" ? "nf4" : quant) : Quant::kNone;
  const AdapterSize size = adapter_size(shape, t.lora_targets);
  set_adapters(size, t.lora_rank ? static_cast<double>(*t.lora_rank) : kUsualLoraRank, s);
  s.saved_params = saved_module_params(count, t.modules_to_save);
  out.assumed.insert(out.assumed.end(), size.assumed.begin(), size.assumed.end());
}

void set_dtypes(const TrainingArgs& t, const Machine& m, Resolved& out) {
  Setting& s = out.setting;
  s.amp_asked = t.amp.value_or(false);
  s.wide_params = s.amp_asked && t.param_dtype == "fp32" && !m.cpu;
  s.param_bytes = s.wide_params ? 2 : dtype_bytes(t.param_dtype.value_or("bf16"));
  s.fp16 = t.param_dtype ? t.param_dtype == "fp16" : !m.gpu.has_bf16 && !m.cpu;
  if (!t.param_dtype && s.fp16) out.assumed.push_back("fp16 compute: " + m.gpu.name + " has no bf16 units");
  s.reduce_bytes = t.reduce_dtype ? dtype_bytes(*t.reduce_dtype) : 4;
  s.reduce_asked = t.reduce_dtype.has_value();
  const bool low_reduce = t.reduce_dtype && *t.reduce_dtype != "fp32";
  s.master_bytes =
      t.master_dtype ? dtype_bytes(*t.master_dtype) : (s.method != Method::kFull && low_reduce ? s.param_bytes : 4);
  out.open.master = !t.master_dtype && !t.reduce_dtype && s.method == Method::kFull && s.param_bytes < 4 && !m.cpu;
  // FSDP2's mixed precision casts what it gathers: who keeps fp32 masters has frozen weights in fp32 too
  // (accelerate#3844).
  const bool newer = s.sharding == Sharding::kFsdp2 || s.sharding == Sharding::kHsdp;
  s.wide_shards = newer && s.method == Method::kLora && t.master_dtype == "fp32" && s.param_bytes < 4 && !m.cpu;
  s.amp = t.amp.value_or(s.sharding == Sharding::kNone && s.master_bytes > s.param_bytes);
  if (!t.reduce_dtype && s.master_bytes == 2) s.reduce_bytes = 2;
  // Losses are scaled so that gradients may stay in fp16.
  if (!t.reduce_dtype && t.param_dtype == "fp16" && is_deepspeed(s.sharding)) s.reduce_bytes = 2;
  if (assumes_narrow_gradients(s)) s.reduce_bytes = s.param_bytes;
  using O = Optimizer;
  s.optimizer =
      choice<O>(t.optimizer.value_or("adamw"), {O::kAdamw, O::kAdamwFused, O::kAdamw8bit, O::kPagedAdamw,
                                                O::kPagedAdamw8bit, O::kSgd, O::kAdafactor, O::kLion, O::kMuon});
  s.optimizer_in_backward = t.optimizer_in_backward.value_or(false);
  out.open.optimizer = !t.optimizer && s.method == Method::kFull && !m.cpu;
}

void set_layout(const TrainingArgs& t, const Machine& m, Resolved& out) {
  Setting& s = out.setting;
  const auto number = [](const std::optional<long long>& v) { return v ? static_cast<double>(*v) : 1.0; };
  s.tp = number(t.tp), s.pp = number(t.pp), s.cp = number(t.cp), s.ep = number(t.ep);
  s.sharding = t.sharding ? sharding_of(*t.sharding) : m.world() > 1 ? Sharding::kFsdp2 : Sharding::kNone;
  if (m.cpu && !t.sharding) s.sharding = Sharding::kFsdp2;
  s.reshard = t.reshard_after_forward.value_or(true);
  s.shard_size = t.shard_size ? static_cast<double>(*t.shard_size) : 0;
  s.offload = t.cpu_offload.value_or(false);
  using A = Checkpointing;
  s.checkpointing =
      choice<A>(t.activation_checkpointing.value_or("none"), {A::kNone, A::kSelective, A::kSelectiveLayer, A::kFull});
  using X = Attention;
  if (!m.cpu) s.attention = choice<X>(t.attention.value_or("sdpa"), {X::kEager, X::kSdpa, X::kFlash});
  s.keeps_cache = t.use_cache.value_or(false) && !m.cpu;
  using L = Loss;
  // Megatron's loss over a split vocabulary works on all of the rank's logits.
  const bool whole = m.cpu || is_three_dimensional(s);
  s.loss = choice<L>(t.loss_impl.value_or(whole ? "standard" : "chunked"),
                     {L::kStandard, L::kFused, L::kChunked, L::kLiger});
  s.own_loop = s.loss == Loss::kChunked && t.loss_impl.has_value();
  s.compile = t.compile.value_or(false);
  s.fp8 = t.fp8.value_or(false);
  // fp8, context or expert parallelism beside ZeRO-1 is Megatron with Transformer Engine; tensor or pipeline
  // parallelism in bf16 alone may come with any kernels.
  s.tuned = s.sharding == Sharding::kMegatron || (s.sharding == Sharding::kZero1 && (s.fp8 || s.cp > 1 || s.ep > 1));
  // DeepSpeed's three-dimensional stack, which trains in fp16, has none.
  s.sequence_parallel = t.sequence_parallel.value_or(!(is_deepspeed(s.sharding) && t.param_dtype == "fp16"));
  out.open.sharding = !t.sharding && !m.cpu;
  out.open.reshard = !t.reshard_after_forward;
  out.open.checkpointing = !t.activation_checkpointing && !m.cpu;
  out.open.offload = !t.cpu_offload && !m.cpu;
  out.open.loss = !t.loss_impl && !m.cpu;
  out.open.compile = !t.compile && !m.cpu;
  out.open.tp = !t.tp && !t.pp && !t.cp && !t.ep && !m.cpu;
}

void set_batch(const TrainingArgs& t, const ModelShape& shape, Resolved& out) {
  Setting& s = out.setting;
  if (t.seq_len) {
    s.seq = static_cast<double>(*t.seq_len);
  } else {
    s.seq = shape.positions > 0 ? std::min(shape.positions, kDefaultSeqLen) : kDefaultSeqLen;
    out.assumed.push_back("sequences of " + std::to_string(static_cast<long long>(s.seq)) +
                          " tokens (training.seq_len is missing)");
  }
  s.micro_batch = t.micro_batch ? static_cast<double>(*t.micro_batch) : 1;
  s.grad_accum = t.grad_accum ? static_cast<double>(*t.grad_accum) : 1;
  out.open.micro_batch = !t.micro_batch;
  out.open.accumulation = !t.grad_accum;
  out.global_batch = t.global_batch_size && !t.grad_accum ? static_cast<double>(*t.global_batch_size) : 0;
}

void set_lengths(const PlanArgs& args, Resolved& out, std::vector<Error>& errors) {
  Setting& s = out.setting;
  s.document = args.data.document_tokens.value_or(0);
  s.example = args.data.example_tokens.value_or(0);
  if (s.example <= 0) return;
  out.assumed.push_back("lengths of examples spread exponentially around their mean");
  if (s.example <= s.seq) return;
  errors.push_back(invalid_argument("data.example_tokens", "is larger than training.seq_len",
                                    "give the mean after cutting at training.seq_len"));
}

void check(const PlanArgs& args, const ModelShape& shape, const Machine& m, const Setting& s,
           std::vector<Error>& errors) {
  const auto wrong = [&](const char* field, std::string message, std::string hint) {
    errors.push_back(invalid_argument(std::string("training.") + field, std::move(message), std::move(hint)));
  };
  if (s.tp * s.pp * s.cp > m.world() || std::fmod(m.world(), s.tp * s.pp * s.cp) != 0) {
    wrong(s.tp > 1   ? "tp"
          : s.pp > 1 ? "pp"
                     : "cp",
          "tp x pp x cp does not divide the number of GPUs", "make their product a divisor of gpus_per_node x nodes");
  }
  if (args.training.shard_size && std::fmod(shards_of(s, m).data_parallel * s.cp, s.shard_size) != 0) {
    wrong("shard_size", "does not divide the data-parallel ranks",
          "use a divisor of gpus_per_node x nodes / (tp x pp), such as the GPUs of one machine");
  }
  if (std::fmod(shape.heads, s.tp) != 0)
    wrong("tp", "does not divide the attention heads", "use a divisor of num_attention_heads");
  if (s.pp > shape.layers) wrong("pp", "is larger than the number of layers", "");
  if (s.ep > 1 && !shape.is_moe()) wrong("ep", "the model has no experts", "leave it out");
  if (shape.is_moe() && s.ep > shape.experts) wrong("ep", "is larger than the number of experts", "");
  if (s.cp > s.seq) wrong("cp", "is larger than the sequence", "");
  const auto& t = args.training;
  if (t.method && *t.method == "full" && t.base_quant && *t.base_quant != "none") {
    wrong("base_quant", "a quantised base cannot be trained in full", "use method qlora");
  }
}

}  // namespace

Result<Resolved> resolve(const PlanArgs& args, const ModelShape& shape, const ParamCount& count,
                         const Machine& machine) {
  Resolved out;
  set_layout(args.training, machine, out);
  set_method(args.training, shape, count, out);
  set_dtypes(args.training, machine, out);
  set_batch(args.training, shape, out);
  std::vector<Error> errors;
  set_lengths(args, out, errors);
  check(args, shape, machine, out.setting, errors);
  if (!errors.empty()) return combine(std::move(errors));
  return out;
}

}  // namespace fx::knowledge::plan
