#include "knowledge/log/chatter.h"

namespace fx::knowledge {

bool is_commit(std::string_view line) {
  std::size_t end = 0;
  bool digit = false, letter = false;
  for (; end < line.size() && end <= 40; ++end) {
    const char c = line[end];
    if (c >= '0' && c <= '9') {
      digit = true;
    } else if (c >= 'a' && c <= 'f') {
      letter = true;
    } else {
      break;
    }
  }
  const bool hash = digit && letter && ((end >= 7 && end <= 12) || end == 40);
  return hash && end + 1 < line.size() && line[end] == ' ' && line[end + 1] >= 'A';
}

const std::vector<Mark>& chatter_marks() {
  static const std::vector<Mark> marks{
      {"chatter",
       // Python's own notices, and what a warning from the standard library or a tracker says.
       "futurewarning:|deprecationwarning:|leaked semaphore|leaked shared_memory|pynvml package is deprecated|is "
       "deprecated and will be removed|"
       // Tokenizers and data loading.
       "disabling parallelism to avoid deadlocks|avoid using `tokenizers` before the fork|tokenizers_parallelism=("
       "true|token indices sequence length is longer than|special tokens have been added in the vocabulary|"
       "this dataloader will create*worker processes|attention mask and the pad token id were not set|new "
       "pad/bos/eos tokens that differ|columns in the training set don't have a corresponding argument|no samples "
       "will be truncated|"
       // torch, its launcher and its process groups.
       "setting omp_num_threads environment variable|devices used by this process are currently unknown|using the "
       "device under current context|errno: 97|grad strides do not match bucket view|find_unused_parameters=true was "
       "specified in ddp constructor, but did not find|expandable_segments not supported on this platform|"
       "destroy_process_group() was not called|typedstorage is deprecated|tf32*tensor cores for float32|`use_cache=true` "
       "is incompatible|lr_scheduler.step()` before `optimizer.step|detected kernel version*recommended minimum|"
       // NCCL looks for plugins that few installations have.
       "no plugin found|failed to find nccl*plugin|failed to find nccl*symbol|net/plugin*could not find|net/plugin: "
       "no plugin|libnccl-net.so: cannot open|libnccl-tuner.so|tuner/plugin|profiler/plugin|"
       // An inference engine's scheduler makes room.
       "is preempted by preemptionmode|kv cache pool is full. retract requests|"
       // What one may do against a shortage of memory, and files of the hub that need not exist.
       "if you see*out of memory|if you get*out of memory|to avoid*out of memory|to prevent*out of memory|if you*oom|avoid oom|"
       "adapter_config.json*404|additional_chat_templates*404|chat_template*404|processor_config.json*404|generation_config.json*404|"
       // Other libraries.
       "unable to register*factory|computation placer already registered|cpu_feature_guard|cutlass repo directory|"
       "falling back to sdpa|sdpa*on multi-gpu setup with rocm|wandb: |does not match the "
       "current*please reinstall"}};
  return marks;
}

}  // namespace fx::knowledge
