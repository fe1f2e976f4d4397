#include "knowledge/log/scope.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace fx::knowledge {

const std::vector<Mark>& scope_marks() {
  static const std::vector<Mark> marks{
      {"distributed",
       "torch.distributed|rendezvous|model_worker/|trainer_worker/|consumed samples:|update_weight|the server socket has failed|grpo step|grpo_|grpo trainer|distributed-world-size|training on * gpus|building train, validation|rayactor|(rolloutmanager|ppo_train|fsdpworker|actor/grad_norm|actor/pg_loss|timing_s/|raytaskerror|ray.exceptions|(taskrunner|(workerdict|nemo i]|nemo w]|nemo e]|composer.cli|composer.checkpoint|composer.trainer|composer.utils|composer.core|model_parallel_size|mp_rank_0|composer/|torchtune|torchtitan|verl.|verl/|llamafactory|"
       "llama-factory|info:swift|swift sft|axolotl|openrlhf|colossalai|gloo|\"module.|'module.|_orig_mod.| ddp|torch/"
       "distributed|torchrun|torchelastic|processgroupnccl|processgroupgloo|init_process_group|[c10d]|nccl|fsdp"
       "|fully_shard|fullysharded|deepspeed|accelerate "
       "launch|accelerate/|accelerate.|megatron|nproc_per_node|world_size|world size"
       "|--local_rank|local_rank|dtensor|distributed_type|dp_shard|hsdp|zero3|zero_config|zero_optimization|zero "
       "stage|zero_to_fp32|stage3_gather|torch.multiprocessing"
       "|torch/multiprocessing|global_rank|horovod|trainrayactor|workerdict|fsdpworker|data "
       "parallel|dataparallel|_fsdp_wrapped_module"
       "|[rank0]|[rank1]|[default0]:|[default1]:|dcp.save|.distcp|nnodes|supervisor: rank"},
      {"trainer",
       "train, step|train.py|trainer|training|finetun|fine-tun|pretrain|optimizer|backward(|grad_norm|learning_rate|lr_scheduler|"
       "epoch|fsdp"
       "|/checkpoint-|'checkpoint-|save_checkpoint|resum|gradient|zero3|zero_to_fp32|sft_|/sft|sft-|sft.|sfttrainer|grpo|ppo_|/ppo|ppo-|ppotrainer|ppo_t|dpo_t|dpo_|/dpo|dpo-|dpotrainer|rlhf"
       "|trainrayactor|workerdict|state_dict|loss.backward|saving*model|fully_shard|train_|autograd|dataloader|actor_"
       "rollout|update_weight"
       "|weight update|weight sync|torchtitan"},
      {"launched", "deepspeed|torchrun|accelerate launch|accelerate/|torch/distributed/elastic"},
      {"batch_job", "srun: |slurmstepd|mpirun|prterun|orterun|mpiexec"},
      {"rl_trainer",
       "actor/pg_loss|modelrayactor|trainrayactor|(taskrunner|agentloop|actor update|rollout|critic/|critic_|criticworker|reward:|reward=|reward'*: |reward\"*: |reward/|rewards|reward model|reward_|reward function|mean reward|policy update|hybrid engine|advantage"},
      {"serving",
       "vllm|sglang|api_server|/v1/chat/completions|/v1/"
       "completions|uvicorn|text-generation-inference|triton_server|tritonserver"
       "|init_inference|deepspeed.inference|text_generation_launcher|shard-manager|text-generation-launcher|tensorrt_llm|llama.cpp|ollama|lmdeploy|prefill|kv=|kv cache|avg generation throughput"},
      {"test_run",
       "= test session starts =|= short test summary|= failures =| passed in | failed, | passed, |ran * tests in|::test_* passed|::test_* failed|::test_* skipped"},
      {"benchmark", "nccl-tests|all_reduce_perf|all_gather_perf|ib_write_bw|iperf|osu_allreduce|avg bus bandwidth"},
      {"elsewhere_torch",
       "torch|transformers|cuda|safetensors|pytorch|nvrm|dataloader worker|huggingface_hub|numpy checkpoints"},
  };
  return marks;
}

namespace {

// "name    1.2.3", "name==1.2.3": a row of a list of installed packages.
bool names_package(std::string_view low) {
  const std::string_view text = trim(low);
  const auto end = text.find_first_of(" =");
  if (end == std::string_view::npos) return false;
  const auto version = text.find_first_not_of(" =", end);
  return version != std::string_view::npos && text[version] >= '0' && text[version] <= '9' &&
         text.find(' ', version) == std::string_view::npos && text.find('.', version) != std::string_view::npos;
}

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.starts_with(word); });
}

// A line that only names things: a package that is installed, a file of a listing or of a build.
bool only_names(std::string_view low) {
  const std::string_view text = trim(low);
  const bool path = !text.empty() && text.front() == '/' && text.find(' ') == std::string_view::npos;
  return path || names_package(low) ||
         begins_with_any(text, {"unpacking ",
                                "setting up ",
                                "preparing to unpack",
                                "selecting previously",
                                "get:",
                                "collecting ",
                                "downloading ",
                                "requirement already",
                                "installing collected",
                                "successfully installed",
                                "successfully built",
                                "building wheel",
                                "- ",
                                "failed: ",
                                "-rw",
                                "drwx",
                                "lrwx",
                                "adding ",
                                "inflating: ",
                                "#include "}) ||
         matches_any(
             ":amd64 |:arm64 |_amd64.deb|.whl|pip install|pip3 install|conda install|apt-get|building c|"
             "building object|/usr/bin/c++|g++ -|gcc -|nvcc -|fatal error: |#include <|.o: |.cpp.o|.cc.o|.cu.o|"
             "git clone|cloning into",
             low);
}

// Tests of a library speak of everything that it can do, and train nothing.
bool is_test_run(const LogBook& book, bool ranked) {
  return book.find("core", "test_run").lines.size() >= 2 && !ranked;
}

// A conversation or a history of commits speaks of failures; nothing in it ran.
bool is_talk(const LogBook& book, bool has_losses, bool ranked) {
  if (has_losses || ranked) return false;
  const auto talk = std::count_if(book.lines.begin(), book.lines.end(), [](const LogLine& line) {
    return begins_with_any(line.low, {"user:", "assistant:", "author: ", "human:"});
  });
  return talk >= 2;
}

}  // namespace

Scope find_scope(const LogBook& book, bool has_losses) {
  Scope scope;
  const bool torch = static_cast<bool>(book.find("core", "elsewhere_torch"));
  // "[rank3]" is torch's own prefix; a bare number in front may be anything.
  const bool ranked = std::any_of(book.lines.begin(), book.lines.end(), [](const LogLine& line) {
    return line.head.rank >= 0 && line.low.find("[rank") != std::string::npos;
  });
  // A benchmark of the fabric moves bytes, it trains nothing.
  const bool benchmark = book.find("core", "benchmark") && !has_losses && !book.find("core", "trainer") &&
                         !book.find("core", "launched") && !book.mentions("torch|transformers");
  // Tasks of srun or mpirun carry a number in front of each line.
  std::set<int> tasks;
  for (const auto& line : book.lines) {
    if (line.head.rank >= 0) tasks.insert(line.head.rank);
  }
  // An agent that talks about this very program runs no training, nor does who only imports something.
  const auto spoken = [&](const char* mark) {
    const auto& words = book.find("core", mark).lines;
    return std::any_of(words.begin(), words.end(), [&](int line) {
      return !only_names(book.at(line).low_body()) &&
             !matches_any(
                 "huggingface-cli |hf download|fsdp-expert|pytorch-fsdp|fsdp skill|cannot import name|from torch.distributed* import ",
                 book.at(line).low);
    });
  };
  const bool named = spoken("distributed");
  // Schedulers and MPI run anything; beside a trainer's or torch's words they run ranks.
  const bool batch = book.find("core", "batch_job") && (torch || has_losses || book.find("core", "trainer"));
  scope.distributed = named || ranked || batch || (torch && tasks.size() >= 2);
  const auto& serving = book.find("core", "serving").lines;
  scope.serving =
      std::any_of(serving.begin(), serving.end(), [&](int line) { return !names_package(book.at(line).low_body()); });
  scope.training = has_losses || spoken("trainer");
  const bool launched = spoken("launched");
  // A server's own log may carry ranks (tensor parallelism): then a trainer must speak, too.
  const bool trains_too = scope.training || static_cast<bool>(book.find("core", "rl_trainer"));
  scope.applicable = scope.serving ? trains_too && (scope.distributed || has_losses)
                     : benchmark || is_test_run(book, ranked) || is_talk(book, has_losses, ranked)
                         ? false
                         : scope.distributed || ((scope.training || launched) && (torch || has_losses));
  return scope;
}

}  // namespace fx::knowledge
