#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/code/interpreter.h"
#include "knowledge/code/names.h"

namespace fx::knowledge::code {
namespace {

struct Known {
  std::string_view name;
  EventKind kind;
  Type result = Type::kUnknown;
};

// Calls that have a kind of their own; the subject is argument 0.
constexpr std::array kKnown = {
    Known{"torch.distributed.init_process_group", EventKind::kInitGroup},
    Known{"torch.distributed.destroy_process_group", EventKind::kDestroyGroup},
    Known{"torch.distributed.new_group", EventKind::kNewGroup},
    Known{"torch.distributed.init_device_mesh", EventKind::kMesh, Type::kMesh},
    Known{"torch.distributed.DeviceMesh", EventKind::kMesh, Type::kMesh},
    Known{"torch.cuda.set_device", EventKind::kSetDevice},
    Known{"torch.utils.checkpoint.checkpoint", EventKind::kCheckpointCall},
    Known{"torch.utils.checkpoint.checkpoint_sequential", EventKind::kCheckpointCall},
    Known{"torch.distributed.checkpoint_wrapper.apply_activation_checkpointing", EventKind::kCheckpointWrap},
    Known{"torch.distributed.checkpoint.state_dict.get_model_state_dict", EventKind::kStateDict, Type::kStateDict},
    Known{"torch.distributed.checkpoint.state_dict.get_optimizer_state_dict", EventKind::kStateDict, Type::kStateDict},
    Known{"torch.distributed.checkpoint.state_dict.get_state_dict", EventKind::kStateDict, Type::kStateDict},
    Known{"torch.distributed.checkpoint.state_dict.set_model_state_dict", EventKind::kLoadState},
    Known{"torch.distributed.checkpoint.state_dict.set_optimizer_state_dict", EventKind::kLoadState},
    Known{"torch.distributed.checkpoint.state_dict.set_state_dict", EventKind::kLoadState},
    Known{"torch.distributed.fsdp.FullyShardedDataParallel.optim_state_dict", EventKind::kStateDict, Type::kStateDict},
    Known{"torch.distributed.fsdp.FullyShardedDataParallel.full_optim_state_dict", EventKind::kStateDict,
          Type::kStateDict},
    Known{"torch.distributed.checkpoint.save", EventKind::kDcpSave},
    Known{"torch.distributed.checkpoint.save_state_dict", EventKind::kDcpSave},
    Known{"torch.distributed.checkpoint.async_save", EventKind::kDcpAsyncSave, Type::kFuture},
    Known{"torch.distributed.checkpoint.load", EventKind::kDcpLoad},
    Known{"torch.distributed.checkpoint.load_state_dict", EventKind::kDcpLoad},
    Known{"torch.save", EventKind::kSave},
    Known{"safetensors.torch.save_file", EventKind::kSave},
    Known{"torch.load", EventKind::kLoad, Type::kStateDict},
    Known{"safetensors.torch.load_file", EventKind::kLoad, Type::kStateDict},
    Known{"torch.manual_seed", EventKind::kSeed},
    Known{"torch.cuda.manual_seed", EventKind::kSeed},
    Known{"torch.cuda.manual_seed_all", EventKind::kSeed},
    Known{"transformers.set_seed", EventKind::kSeed},
    Known{"accelerate.utils.set_seed", EventKind::kSeed},
};

// Every rank must call them; those with true leave the same in argument 0 (or give it back) on every rank.
struct Collective {
  std::string_view name;
  bool reduces;
};
constexpr std::array kCollectives = {
    Collective{"all_reduce", true},
    Collective{"broadcast", true},
    Collective{"broadcast_object_list", true},
    Collective{"all_gather", true},
    Collective{"all_gather_object", true},
    Collective{"all_gather_into_tensor", true},
    Collective{"barrier", false},
    Collective{"monitored_barrier", false},
    Collective{"reduce", false},
    Collective{"gather", false},
    Collective{"gather_object", false},
    Collective{"scatter", false},
    Collective{"scatter_object_list", false},
    Collective{"reduce_scatter", false},
    Collective{"reduce_scatter_tensor", false},
    Collective{"all_to_all", false},
    Collective{"all_to_all_single", false},
};

const Collective* collective_of(std::string_view name) {
  constexpr std::string_view kPlain = "torch.distributed.", kFunctional = "torch.distributed.nn.functional.";
  std::string_view rest;
  if (name.starts_with(kFunctional))
    rest = name.substr(kFunctional.size());
  else if (name.starts_with("torch.distributed.nn."))
    rest = name.substr(21);
  else if (name.starts_with(kPlain))
    rest = name.substr(kPlain.size());
  const auto* found = std::ranges::find(kCollectives, rest, &Collective::name);
  return rest.empty() || found == kCollectives.end() ? nullptr : found;
}

bool is_model_class(std::string_view name) {
  const std::string_view last = last_part(name);
  for (const std::string_view no : {"Tokenizer", "Config", "Processor", "Scheduler", "FeatureExtractor", "Dataset"}) {
    if (contains(last, no)) return false;
  }
  return true;
}

bool rank_like_function(std::string_view name) {
  const std::string_view last = last_part(name);
  for (const std::string_view some :
       {"is_main_process", "is_rank_zero", "is_rank0", "is_rank_0", "is_master", "is_local_master", "is_global_zero",
        "is_main", "is_world_process_zero", "is_local_main_process", "get_rank", "get_global_rank", "get_local_rank",
        "is_primary", "is_local_world_process_zero", "get_node_local_rank", "is_first_rank"}) {
    if (last == some || (last.size() == some.size() + 1 && last[0] == '_' && last.substr(1) == some)) return true;
  }
  return false;
}

}  // namespace

Object* Interpreter::library_call(std::string_view name, Arguments& given, Node node) {
  const std::string_view last = last_part(name);
  const Taints taints = taints_of(given);
  Object* first = given.list.empty() ? nullptr : main_of(given.list.front().value);
  if (name.find('.') == std::string_view::npos || name.starts_with("functools.") || name.starts_with("itertools.") ||
      name.starts_with("os.") || name.starts_with("tqdm") || name.starts_with("copy.") || name.starts_with("builtins."))
    if (Object* done = builtin_call(name, given, node)) return done;

  if (name == "torch.distributed.fsdp.fully_shard") return shard(given, name, node);
  if (name == "torch.distributed.fsdp.FullyShardedDataParallel")
    return wrap(given, Sharding::kFsdp1, EventKind::kShard, name, node);
  if (name == "torch.distributed.fsdp.wrap.wrap") return wrap(given, Sharding::kFsdp1, EventKind::kShard, name, node);
  if (name == "torch.nn.parallel.DistributedDataParallel")
    return wrap(given, Sharding::kDdp, EventKind::kDdp, name, node);
  if (name == "torch.distributed.checkpoint_wrapper.checkpoint_wrapper" ||
      name == "torch.distributed._composable.checkpoint")
    return wrap(given, Sharding::kNone, EventKind::kCheckpointWrap, name, node);
  if (name == "peft.get_peft_model") return wrap(given, Sharding::kNone, EventKind::kCall, name, node);
  if (name == "torch.compile") {
    if (first == nullptr || (first->type != Type::kModel && first->type != Type::kUnknown)) {
      emit(EventKind::kCall, name, node, &given, first, nullptr, first);
      return first == nullptr ? unknown(node) : first;
    }
    return wrap(given, Sharding::kNone, EventKind::kCompile, name, node);
  }
  if (name == "torch.multiprocessing.spawn" || name == "torch.multiprocessing.start_processes")
    return spawn(given, node);
  if (name == "copy.deepcopy") {
    Object* copied = make(first == nullptr ? Type::kUnknown : first->type, node);
    if (first != nullptr) {
      copied->of_class = first->of_class;
      copied->taints = first->taints;
      copied->receiver = first;
      copied->name = first->name;
      copied->sharding = first->sharding;
    }
    copied->callee = name;
    copied->made_by = &given;
    emit(EventKind::kCall, name, node, &given, first, nullptr, copied);
    return copied;
  }

  Object* result = unknown(node);
  result->callee = name;
  result->made_by = &given;
  if (const auto* known = std::ranges::find(kKnown, name, &Known::name); known != kKnown.end()) {
    result->type = known->result;
    const bool about_first = known->kind == EventKind::kStateDict || known->kind == EventKind::kLoadState ||
                             known->kind == EventKind::kCheckpointWrap || known->kind == EventKind::kSave ||
                             known->kind == EventKind::kDcpSave;
    if (known->kind == EventKind::kStateDict || known->kind == EventKind::kCheckpointWrap) {
      if (first != nullptr && last != "get_optimizer_state_dict") promote(first);
      result->receiver = first;
    }
    if (known->kind == EventKind::kLoadState && first != nullptr) promote(first);
    if (known->kind == EventKind::kMesh) result->taints = kWorld;
    if (known->kind == EventKind::kLoad) result->taints = 0;
    if (last == "get_state_dict") {
      // A pair; both halves remember the call.
      Object* pair = make(Type::kSequence, node);
      Object* other = make(Type::kStateDict, node);
      other->callee = name;
      other->made_by = &given;
      other->receiver = given.list.size() > 1 ? main_of(given.list[1].value) : nullptr;
      pair->items = {result, other};
      pair->callee = name;
      pair->made_by = &given;
      emit(known->kind, name, node, &given, first, nullptr, pair);
      return pair;
    }
    emit(known->kind, name, node, &given, about_first ? first : nullptr, nullptr, result);
    if (known->kind == EventKind::kInitGroup) {
      const Object* backend = main_of(given.get("backend", 0));
      program_.backends_.push_back(backend == nullptr || backend->type == Type::kNone  ? std::string()
                                   : given.get("backend", 0)->type == Type::kUnion     ? "?"
                                   : backend->type == Type::kText && backend->constant ? to_lower(backend->name)
                                   : backend->type == Type::kExternal &&
                                           backend->name.find(".Backend.") != std::string::npos
                                       ? to_lower(last_part(backend->name))
                                       : "?");
    }
    return result;
  }
  if (const Collective* collective = collective_of(name)) {
    result->taints = collective->reduces ? static_cast<Taints>(kReduced) : static_cast<Taints>(kLocal);
    emit(EventKind::kCollective, name, node, &given, first, nullptr, result);
    if (collective->reduces && first != nullptr) {
      reduce(given.list.front().value);
      result->parent = nullptr;
    }
    return result;
  }
  if (name == "torch.nn.utils.clip_grad_norm_" || name == "torch.nn.utils.clip_grad_value_" ||
      name == "torch.nn.utils.clip_grad_norm") {
    Object* model = const_cast<Object*>(first == nullptr ? nullptr : model_in(first));
    emit(EventKind::kClip, name, node, &given, model, nullptr, result);
    return result;
  }
  if (last == "from_pretrained" || last == "from_config" || last == "from_checkpoint") {
    const std::string_view owner = name.substr(0, name.size() - last.size() - 1);
    if (is_model_class(owner)) result->type = Type::kModel;
    emit(EventKind::kCall, name, node, &given, result->type == Type::kModel ? result : nullptr, nullptr, result);
    return result;
  }
  if (name.starts_with("torch.optim.lr_scheduler.") || (last.starts_with("get_") && contains(last, "schedule"))) {
    result->type = Type::kScheduler;
    result->receiver = first;
  } else if ((name.starts_with("torch.optim.") && is_class_like(name)) ||
             (is_class_like(name) &&
              (contains(last, "Adam") || contains(last, "Lion") || contains(last, "Muon") || last == "SGD" ||
               contains(last, "Optimizer") || contains(last, "Adafactor") || contains(last, "Shampoo")))) {
    result->type = Type::kOptimizer;
    Object* model = const_cast<Object*>(first == nullptr ? model_in(main_of(given.get("params"))) : model_in(first));
    if (model != nullptr) promote(model);
    emit(EventKind::kOptimizer, name, node, &given, model, nullptr, result);
    return result;
  } else if (last == "GradScaler" || last == "ShardedGradScaler") {
    result->type = Type::kScaler;
  } else if (last == "DistributedSampler" ||
             name == "torchdata.stateful_dataloader.sampler.StatefulDistributedSampler") {
    result->type = Type::kSampler;
  } else if (last == "DataLoader" || last == "StatefulDataLoader") {
    result->type = Type::kLoader;
  } else if (name == "accelerate.Accelerator") {
    result->type = Type::kAccelerator;
  } else if (name.starts_with("torch.nn.init.")) {
    emit(EventKind::kInitWeights, name, node, &given, first, nullptr, first);
    return first == nullptr ? result : first;
  } else if (name.starts_with("torch.nn.functional.")) {
    result->taints = taints;
  } else if (name.starts_with("torch.nn.") && is_class_like(name) && !name.starts_with("torch.nn.utils") &&
             last != "Parameter" && last != "Buffer") {
    const bool is_loss = contains(last, "Loss");
    result->type = is_loss ? Type::kUnknown : Type::kModel;
    if (first != nullptr && (last == "ModuleList" || last == "Sequential" || last == "ModuleDict")) {
      for (const Argument& argument : given.list) {
        Object* item = main_of(argument.value);
        if (item->type == Type::kSequence) {
          for (Object* inner : item->items) {
            main_of(inner)->parent = result;
            result->items.push_back(inner);
          }
        } else if (item->type == Type::kModel || item->type == Type::kUnknown) {
          item->parent = result;
          result->items.push_back(item);
        }
      }
    }
  } else if (last == "get_rank" || last == "get_node_local_rank" || rank_like_function(name)) {
    result->type = last.starts_with("get_") ? Type::kNumber : Type::kBool;
    result->taints = kRank;
    if (last == "get_rank" || last == "get_global_rank") result->identity = Identity::kGlobalRank;
    if (last == "get_node_local_rank" || last == "get_local_rank") result->identity = Identity::kLocalRank;
  } else if (last == "get_world_size") {
    result->type = Type::kNumber;
    result->taints = kWorld;
    result->identity = Identity::kWorldSize;
  } else if (name.starts_with("time.")) {
    result->taints = kLocal;
  } else if (name.starts_with("torch.") || name.starts_with("numpy.") || name.starts_with("math.") ||
             name.starts_with("random.") || name.starts_with("pathlib.")) {
    result->taints = taints;
  } else {
    result->taints = opaque_taints(name, taints);
  }
  emit(EventKind::kCall, name, node, &given, first, nullptr, result);
  return result;
}

}  // namespace fx::knowledge::code
