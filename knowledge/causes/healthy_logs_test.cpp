// Healthy runs of many frameworks, whose warnings look like failures.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "knowledge/causes/diagnose.h"

namespace fx::knowledge {
namespace {

struct Healthy {
  const char* framework;
  std::string_view text;
};

constexpr std::array kHealthy{
    Healthy{"trainer", R"log(accelerate launch --num_processes 8 sft.py
/opt/conda/lib/python3.11/site-packages/torch/distributed/fsdp/_state_dict_utils.py:773: UserWarning: When using ``NO_SHARD`` for ``ShardingStrategy``, full_state_dict will be returned.
[rank0]:[W1130 10:00:00.1 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 to perform barrier as devices used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect. Specify device_ids in barrier() to force use of a particular device, or call init_process_group() with a device_id.
{'loss': 1.8, 'grad_norm': 2.1, 'learning_rate': 2e-4, 'epoch': 0.1}
{'loss': 1.7, 'grad_norm': 1.1, 'learning_rate': 2e-4, 'epoch': 0.2}
`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.
{'train_runtime': 100.2, 'train_samples_per_second': 9.1, 'train_loss': 1.7, 'epoch': 1.0}
Saving model checkpoint to /out/checkpoint-200
[rank0]:[W1130 10:10:00 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources.
)log"},
    Healthy{"titan", R"log([rank0]:[titan] 2026-11-30 10:00:00,100 - root - INFO - Starting job: Llama 3 8B training
[rank0]:[titan] 2026-11-30 10:00:00,100 - root - WARNING - ENV[TORCH_NCCL_ASYNC_ERROR_HANDLING] = 1 will be overridden to 3 based on job config
[rank0]:[titan] 2026-11-30 10:00:00,100 - root - INFO - Building 1-D device mesh with ['dp_shard'], [8]
[rank0]:[titan] 2026-11-30 10:00:00,100 - root - INFO - CUDA memory usage for model: 3.77GiB(4.02%)
[rank0]:[titan] 2026-11-30 10:00:00,100 - root - INFO - Applied selective activation checkpointing to the model
[rank0]:[titan] 2026-11-30 10:00:09,100 - root - INFO - step:  1  loss: 12.2534  memory: 30.72GiB(32.34%)  tps: 1,218  mfu: 7.13%
[rank0]:[titan] 2026-11-30 10:00:19,100 - root - INFO - step: 10  loss: 10.8120  memory: 35.11GiB(36.97%)  tps: 7,218  mfu: 42.13%
[rank0]:[titan] 2026-11-30 10:00:29,100 - root - WARNING - 2 CUDA memory allocation retries.
[rank0]:[titan] 2026-11-30 10:00:39,100 - root - INFO - step: 20  loss: 8.8120  memory: 35.11GiB(36.97%)  tps: 7,218  mfu: 42.13%
[rank0]:[titan] 2026-11-30 10:00:49,100 - root - INFO - Training completed
)log"},
    Healthy{
        "ds",
        R"log([2026-11-30 10:00:00,000] [INFO] [real_accelerator.py:239:get_accelerator] Setting ds_accelerator to cuda (auto detect)
[2026-11-30 10:00:01,000] [WARNING] [engine.py:1232:_do_optimizer_sanity_check] **** You are using ZeRO with an untested optimizer, proceed with caution *****
[2026-11-30 10:00:09,000] [INFO] [fused_optimizer.py:392:_update_scale] 
Grad overflow on iteration 3
[2026-11-30 10:00:09,000] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768
[2026-11-30 10:01:09,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=1, lr=[1e-05], mom=[(0.9, 0.999)]
steps: 10 loss: 2.0121 iter time (s): 1.2 samples/sec: 6.6
[2026-11-30 10:02:09,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=1, lr=[1e-05], mom=[(0.9, 0.999)]
steps: 20 loss: 1.9121 iter time (s): 1.2 samples/sec: 6.6
[2026-11-30 10:03:09,000] [INFO] [launch.py:351:main] Process 9871 exits successfully.
)log"},
    Healthy{"nccl", R"log(node1:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>
node1:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.
node1:1:9 [0] NCCL INFO NET/IB : No device found.
node1:1:9 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
node1:1:9 [0] NCCL INFO P2P Chunksize set to 131072
node1:1:9 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x1 - Init COMPLETE
[rank0]: step 1 loss 3.1
[rank0]: step 2 loss 3.0
[rank0]: training finished, saved to /out/final
)log"},
    Healthy{"verl", R"log((TaskRunner pid=10) Training Progress:   1%|          | 1/100 [02:00<3:18:00]
(TaskRunner pid=10) step:1 - actor/pg_loss:0.011 - actor/grad_norm:0.2 - critic/rewards/mean:0.1 - timing_s/step:120.1 - perf/throughput:1200.1
(WorkerDict pid=20) WARNING:2026-11-30 10:00:00,000:Flash Attention 2 only supports torch.float16 and torch.bfloat16 dtypes, but the current dype in Qwen2ForCausalLM is torch.float32.
(WorkerDict pid=20) [Gloo] Rank 0 is connected to 7 peer ranks. Expected number of connected peer ranks is : 7
(TaskRunner pid=10) step:2 - actor/pg_loss:0.010 - actor/grad_norm:0.2 - critic/rewards/mean:0.2 - timing_s/step:119.1 - perf/throughput:1210.1
(TaskRunner pid=10) local_global_step_folder: checkpoints/a/global_step_2
)log"},
    Healthy{"mega",
            R"log(using world size: 16, data-parallel size: 4, context-parallel size: 1, tensor-model-parallel size: 4
WARNING: could not find the metadata file /ckpt/latest_checkpointed_iteration.txt
    will not load any checkpoints and will start from random
(min, max) time across ranks (ms):
    model-and-optimizer-setup ......................: (310.02, 320.11)
 [2026-11-30 10:00:00] iteration       10/    1000 | consumed samples:          160 | elapsed time per iteration (ms): 910.2 | learning rate: 1E-05 | global batch size:    16 | lm loss: 1.081E+01 | loss scale: 1.0 | grad norm: 2.1 | number of skipped iterations:   0 | number of nan iterations:   0 |
 [2026-11-30 10:00:10] iteration       20/    1000 | consumed samples:          320 | elapsed time per iteration (ms): 905.2 | learning rate: 1E-05 | global batch size:    16 | lm loss: 9.081E+00 | loss scale: 1.0 | grad norm: 1.1 | number of skipped iterations:   0 | number of nan iterations:   0 |
)log"},
    Healthy{"llamaf", R"log([INFO|trainer.py:2519] 2026-11-30 10:00:00,000 >> ***** Running training *****
[INFO|2026-11-30 10:00:00] llamafactory.data.template:143 >> Add pad token: <|endoftext|>
[WARNING|logging.py:328] 2026-11-30 10:00:00,000 >> Some parameters are on the meta device because they were offloaded to the cpu.
[INFO|modeling_utils.py:4800] >> All model checkpoint weights were used when initializing Qwen2ForCausalLM.
{'loss': 0.9, 'grad_norm': 1.0, 'learning_rate': 1e-5, 'epoch': 0.1}
{'loss': 0.8, 'grad_norm': 1.0, 'learning_rate': 1e-5, 'epoch': 0.2}
[INFO|2026-11-30 10:10:00] training completed. torchrun
)log"},
    Healthy{"lightning", R"log(Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4
distributed_backend=nccl
All distributed processes registered. Starting with 4 processes
LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0,1,2,3]
/opt/lightning/pytorch/trainer/connectors/data_connector.py:433: The 'train_dataloader' does not have many workers which may be a bottleneck. Consider increasing the value of the `num_workers` argument to `num_workers=63` in the `DataLoader` to improve performance.
Epoch 0:  10%|#         | 10/100 [00:10<01:30,  1.00it/s, v_num=0, train_loss=2.10]
Epoch 0:  20%|#        | 20/100 [00:20<01:20,  1.00it/s, v_num=0, train_loss=2.00]
`Trainer.fit` stopped: `max_epochs=1` reached.
)log"},
    Healthy{
        "composer",
        R"log([2026-11-30 10:00:00] composer.cli.launcher: INFO: Starting distributed training with FSDP, world_size 8
warnings.warn('`torch.distributed._all_gather_base` is a private function and will be deprecated.')
[batch=1/100]: Train loss/train/total: 11.9120  Train throughput/tokens_per_sec 30211
[batch=10/100]: Train loss/train/total: 9.9120  Train throughput/tokens_per_sec 30211
[rank0] WARNING: retrying download of shard 3 from s3 (attempt 1 of 5): Read timed out
[batch=20/100]: Train loss/train/total: 7.9120  Train throughput/tokens_per_sec 30211
)log"},
    Healthy{"nemo", R"log([NeMo W 2026-11-30 10:00:00 nemo_logging:349] /usr/lib/x.py: UserWarning: OOM retry disabled
[NeMo I 2026-11-30 10:00:00 megatron_init:269] Rank 0 has data parallel group : [0, 1, 2, 3]
Training epoch 0, iteration 10/99 | lr: 1e-5 | global_batch_size: 8 | global_step: 10 | reduced_train_loss: 1.41 | train_step_timing in s: 1.5
Training epoch 0, iteration 20/99 | lr: 1e-5 | global_batch_size: 8 | global_step: 20 | reduced_train_loss: 1.31 | train_step_timing in s: 1.5
)log"},
    Healthy{
        "elastic",
        R"log(W1130 10:00:00.0 1 torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment variable for each process to be 1
I1130 10:00:00.0 1 torch/distributed/elastic/agent/server/api.py:525] [default] Rendezvous'ing worker group
[rank0]: Could not estimate the number of tokens of the input, floating-point operations will not be computed
[rank0]: step 1 loss 2.0
[rank0]: step 2 loss 1.9
I1130 10:10:00.0 1 torch/distributed/elastic/agent/server/api.py:864] [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.
)log"},
    Healthy{
        "axo",
        R"log([2026-11-30 10:00:00,000] [INFO] [axolotl.utils.data.load_tokenized_prepared_datasets:210] [PID:1] [RANK:0] Unable to find prepared dataset in last_run_prepared/abc
[2026-11-30 10:00:00,000] [WARNING] [axolotl.utils.schemas.config:100] [PID:1] [RANK:0] We recommend setting `load_best_model_at_end`
Dropping Long Sequences (num_proc=8): 100%|#| 1000/1000
{'loss': 1.2, 'grad_norm': 0.8, 'learning_rate': 1e-5, 'epoch': 0.1}
{'loss': 1.1, 'grad_norm': 0.8, 'learning_rate': 1e-5, 'epoch': 0.2}
[2026-11-30 10:10:00,000] [INFO] [axolotl.train.train:200] [PID:1] [RANK:0] Training Completed!!! Saving pre-trained model to ./out
)log"},
    Healthy{"eval-nan", R"log(torchrun --nproc_per_node 4 train.py
step 100 | loss 2.1 | grad norm 1.1 | nan_count 0 | inf_count 0
step 200 | loss 2.0 | grad norm 1.0 | nan_count 0 | inf_count 0
evaluating... eval loss 2.01
saving checkpoint to /out/step200 ... done (12.1 s)
step 300 | loss 1.9 | grad norm 1.0 | nan_count 0 | inf_count 0
done
)log"},
    Healthy{"lightning-sanity", R"log(Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/2
Sanity Checking DataLoader 0: 100%|##########| 2/2 [00:00<00:00,  3.01it/s]
The 'val_dataloader' does not have many workers which may be a bottleneck. Consider increasing the value of the `num_workers` argument.
Epoch 0: 100%|##########| 250/250 [02:10<00:00,  1.91it/s, v_num=3, train_loss=2.310]
)log"},
    Healthy{"engine-preempts", R"log((PolicyModelActor pid=21) [INFO] [comm.py:652:init_distributed] cdb=None
(PPOTrainer pid=18) Global step 1: {'policy_loss': 0.01, 'reward': 0.31}
(LLMRayActor pid=31) WARNING 11-30 10:01:40 [scheduler.py:1483] Sequence group 12 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.
)log"},
    Healthy{"setup-only", R"log(+ export NCCL_TIMEOUT=1800 NCCL_P2P_DISABLE=0 TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=1200
#SBATCH --signal=SIGUSR1@120
[rank0] SIGTERM/SIGUSR1 handlers installed, will checkpoint on preemption
[rank0] process group timeout 0:30:00, watchdog on
)log"},
    Healthy{"frozen", R"log(torchrun --nproc_per_node=4 sft_vlm.py --freeze_vit True --freeze_llm False
[rank0] Freezing the vision tower: 304M parameters frozen, 7.6B trainable
[rank0] FSDP: sharding FULL_SHARD
)log"},
    Healthy{"json-lines", R"log({"rank": 0, "event": "start", "world_size": 16, "timeout_s": 1800}
{"rank": 0, "step": 1, "loss": 2.91, "oom": false, "nan": false}
{"rank": 0, "step": 2, "loss": 2.81, "oom": false, "nan": false}
)log"},
    Healthy{
        "first-start",
        R"log([NeMo W 2026-11-30 10:00:00 exp_manager:708] No version folders would be created as 'resume_if_exists' is enabled.
[NeMo W 2026-11-30 10:00:00 exp_manager:568] There were no checkpoints found in checkpoint_dir. Training from scratch.
Epoch 0: :   1%|1         | 10/1000 [01:10<1:56:01, reduced_train_loss=10.90, global_step=9.000]
Epoch 0: :   2%|2         | 20/1000 [02:20<1:54:01, reduced_train_loss=9.10, global_step=19.00]
)log"},
    Healthy{
        "cpu-adam",
        R"log([2026-11-30 10:00:00,000] [INFO] [config.py:1001:print]   zero_config .................. {"stage": 3, "offload_optimizer": {"device": "cpu"}}
Time to load cpu_adam op: 2.3116 seconds
Adam Optimizer #0 is created with AVX2 arithmetic capability.
{'loss': 1.21, 'grad_norm': 0.4, 'learning_rate': 1e-05, 'epoch': 0.1}
{'loss': 1.11, 'grad_norm': 0.4, 'learning_rate': 1e-05, 'epoch': 0.2}
)log"},
    Healthy{"cpu-adam-start", R"log($ deepspeed --num_gpus 4 pretrain.py
Time to load cpu_adam op: 2.4117 seconds
[INFO] [logging.py:60:log_dist] [Rank 0] zero_optimization: stage 3, offload_optimizer device=cpu, world 4
Adam Optimizer #0 is created with AVX512 arithmetic capability.
)log"},
    Healthy{"interrupted", R"log([rank0] fsdp step 10 loss 2.1
[rank0] step 20 loss 2.0
^C[rank0] KeyboardInterrupt received, saving and leaving
)log"},
    Healthy{"params-on-host",
            R"log([rank0] FullyShardedDataParallel(cpu_offload=CPUOffload(offload_params=True)) around 32 blocks
[rank0] step 1 loss 2.1 step_time 9.1 s
[rank0] step 2 loss 2.0 step_time 9.0 s
)log"},
    Healthy{"corrected", R"log([ 12.0] pcieport 0000:00:03.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer
[rank0] NCCL version 2.21.5+cuda12.4
)log"},
    Healthy{"cold-loader", R"log([rank0] dataloader: 8 workers, uneven tail of 3 shards dropped
[rank0] step 1 loss 6.9 data_time 3.1 step_time 4.0
[rank0] step 2 loss 6.8 data_time 0.02 step_time 1.0
[rank0] step 3 loss 6.7 data_time 0.02 step_time 1.0
)log"},
};

TEST(HealthyLogs, RaiseNoAlarm) {
  for (const auto& row : kHealthy) {
    const std::array<NamedLog, 1> logs{NamedLog{"", row.text}};
    const auto got = diagnose(logs, {});
    EXPECT_EQ(got.verdict, Verdict::kNoFailureFound)
        << row.framework << " " << (got.causes.empty() ? "" : got.causes.front().id);
  }
}

// What a careful start-up script prints of each thing that could be wrong and is not.
TEST(HealthyLogs, MayNameEveryFault) {
  for (const char* line :
       {"uniform dtype torch.bfloat16 in all flat parameters",
        "lora: 4M trainable, use_orig_params=True, mixed requires_grad allowed",
        "nvidia-smi -q -d ECC: Volatile SRAM Uncorrectable 0, DRAM Correctable 3",
        "HF_HUB_OFFLINE=1, using local snapshot /models/x (no download)",
        "huggingface_hub: 429 Too Many Requests, retrying in 2 s\nFetching 12 files: 100%|##| 12/12 [00:09<00:00]",
        "grad norm 0.81, nan/inf check every 100 steps: ok",
        "loaded 338 of 338 tensors, missing keys: [], unexpected keys: []",
        "mlx5_0 port 1 ACTIVE, link 400 Gb/s, symbol errors 0, 0 retransmits", "rendezvous: 2 of 2 nodes joined"}) {
    const std::string text = "torchrun --nproc_per_node 2 train.py  # fsdp\n[rank0] " + std::string(line) + "\n";
    const std::array<NamedLog, 1> logs{NamedLog{"", text}};
    EXPECT_EQ(diagnose(logs, {}).verdict, Verdict::kNoFailureFound) << line;
  }
}

TEST(HealthyLogs, AreNoLogsOfOtherPrograms) {
  for (
      const std::string_view text :
      {"INFO config.py:1] This model supports multiple tasks: {'generate', 'classify', 'reward'}.\nINFO api_server.py:1000] "
       "vLLM API server\nINFO rank 0 in world size 1\nERROR core.py:3] ValueError: 16.00 GiB KV cache is needed\n",
       "INFO api_server.py:1000] vLLM API server\nERROR core.py:3] torch.OutOfMemoryError: CUDA out of memory.\n",
       "user: please fix the training script\nFAILED tests/test_api.py::test_login - AssertionError: expected 200\n",
       "agent> pytest tests/test_shard.py\n    from torch.distributed.fsdp import fully_shard\nE   ImportError: cannot "
       "import name 'fully_shard' from 'torch.distributed.fsdp'\nagent> pinned torch, 9 passed\n",
       "Setting up libgloo0 (0.5) ...\n(Reading database ... 40%\r(Reading database ... 100%\r\nPreparing to unpack "
       "x_amd64.deb ...\n",
       "total 8\ndrwxr-xr-x 2 root root 9 Nov 30 20:40 libgloo-dev\n/usr/share/doc/libgloo-dev/docs:\n-rw-r--r-- 1 "
       "root root 9 Nov 30 20:40 README.saving\n-rw-r--r-- 1 root root 9 Nov 30 20:40 writing-tests.md\n",
       "==== test session starts ====\ntests/fsdp/test_fsdp.py ..F\nE   torch.OutOfMemoryError: CUDA out of memory. "
       "Tried to allocate 2.00 MiB.\n==== 1 failed, 2 passed in 8.1s ====\n",
       "src/wrap.cpp:3:10: fatal error: nccl.h: No such file or directory\nninja: build stopped: subcommand failed.\n",
       "#12 RUN pip install deepspeed\n#12 31.1 ERROR: Could not install packages due to an OSError: [Errno 28] No "
       "space left on device\n",
       "user: my loss is nan, how do I shard with FSDP?\nassistant: lower the learning rate, then use fully_shard\n",
       "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A <a@b.c>\n    FSDP: no NaN loss in fp16\ncommit "
       "1123456789abcdef0123456789abcdef01234567\nAuthor: B <a@b.c>\n    NCCL timeout raised\n docs/loss-not-scaled.md | 20 ++\n a.md | 2 +\n",
       "Collecting nvidia-nccl-cu12==2.20.5 (from torch)\nInstalling collected packages: torch, deepspeed\n",
       "Step 7/12 : RUN pip install torch\nERROR: Could not install packages: [Errno 28] No space left on device\n",
       "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2026-11-30T00:00:00 DUE TO TIME LIMIT ***\nblast failed\n"}) {
    const std::array<NamedLog, 1> logs{NamedLog{"", text}};
    EXPECT_EQ(diagnose(logs, {}).verdict, Verdict::kNotApplicable) << text;
  }
}

}  // namespace
}  // namespace fx::knowledge
