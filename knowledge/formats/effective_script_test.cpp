// The same for command lines, scripts and environment files.
#include <gtest/gtest.h>

#include "knowledge/formats/effective_testing.h"

namespace fx::knowledge {
namespace {

TEST(Effective, AccelerateLaunchFlagsAreTheSameRun) {
  expect_run(input_of("accelerate launch --use_fsdp --num_machines 2 --num_processes 8 --fsdp_version 2 "
                      "--fsdp_reshard_after_forward false --mixed_precision fp16 train.py\n"),
             "accelerate-launch-command",
             {{"world_size", "8"},
              {"processes_per_node", "4"},
              {"strategy", R"("fsdp2")"},
              {"reshard_after_forward", "false"},
              {"precision", R"("fp16")"}});
}

TEST(Effective, TrainerCommandLineReadsOptionsAndInlineConfig) {
  expect_run(input_of("torchrun --nproc_per_node 4 run_clm.py --fsdp 'shard_grad_op offload auto_wrap' "
                      "--fsdp_config '{\"transformer_layer_cls_to_wrap\": [\"GPT2Block\"]}' --bf16 "
                      "--per_device_train_batch_size 2 --gradient_accumulation_steps 8 --learning_rate 1e-5\n"),
             "hf-trainer-cli",
             {{"world_size", "4"},
              {"strategy", R"("fsdp")"},
              {"reshard_after_forward", "false"},
              {"cpu_offload", "true"},
              {"precision", R"("bf16")"},
              {"wrap", R"("GPT2Block")"},
              {"micro_batch", "2"},
              {"grad_accum", "8"},
              {"global_batch", "64"},
              {"learning_rate", "1e-05"}});
}

TEST(Effective, TorchtitanCommandLineAndPythonUseTheSameNames) {
  expect_run(input_of("torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file c.toml "
                      "--parallelism.data_parallel_shard_degree 8 --training.enable_cpu_offload\n"),
             "torchtitan-cli",
             {{"world_size", "8"}, {"mesh.dp_shard", "8"}, {"strategy", R"("fsdp2")"}, {"cpu_offload", "true"}});
  expect_run(input_of("from torchtitan.config import ParallelismConfig, TrainingConfig\n"
                      "def run():\n"
                      "    return Config(training=TrainingConfig(steps=50, seq_len=4096),\n"
                      "                  parallelism=ParallelismConfig(tensor_parallel_degree=4))\n"),
             "torchtitan-python", {{"mesh.tp", "4"}, {"steps", "50"}, {"seq_len", "4096"}});
}

TEST(Effective, VerlActorCountsSequencesOfAWeightUpdate) {
  expect_run(input_of("python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.strategy=fsdp2 "
                      "actor_rollout_ref.actor.fsdp_config.offload_policy=True data.train_batch_size=512 "
                      "actor_rollout_ref.actor.ppo_mini_batch_size=128 actor_rollout_ref.rollout.n=4 "
                      "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 "
                      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 trainer.nnodes=2 "
                      "trainer.n_gpus_per_node=8\n"),
             "verl-overrides",
             {{"world_size", "16"},
              {"strategy", R"("fsdp2")"},
              {"cpu_offload", "true"},
              {"mesh.sp", "2"},
              {"micro_batch", "8"},
              {"global_batch", "512"},
              {"grad_accum", "8"}});
}

TEST(Effective, SlimeAndRelaxFlags) {
  expect_run(input_of("python train.py --train-backend fsdp --actor-num-nodes 1 --actor-num-gpus-per-node 8 "
                      "--fsdp-cpu-offload --gradient-checkpointing --global-batch-size 64\n"),
             "slime-cli",
             {{"world_size", "8"},
              {"strategy", R"("fsdp2")"},
              {"cpu_offload", "true"},
              {"activation_checkpointing", R"("full")"},
              {"precision", R"("bf16")"},
              {"global_batch", "64"}});
}

TEST(Effective, LaunchLinesAndSlurmTasksCountRanks) {
  expect_run(input_of("torchrun --nnodes 4 --nproc_per_node 8 train.py\n"), "torchrun-command",
             {{"world_size", "32"}, {"nodes", "4"}, {"processes_per_node", "8"}, {"strategy", ""}});
  expect_run(input_of("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n#SBATCH --ntasks-per-node=1\n"
                      "srun torchrun --nnodes $SLURM_NNODES --nproc_per_node 4 train.py\n"),
             "sbatch-script", {{"world_size", "8"}, {"nodes", "2"}});
  expect_run(input_of("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nsrun python train.py\n"),
             "sbatch-script", {{"world_size", "8"}, {"processes_per_node", "4"}});
}

TEST(Effective, EnvironmentFileDecidesRanksAndAccelerateSettings) {
  expect_run(input_of("export WORLD_SIZE=16\nexport ACCELERATE_USE_FSDP=true\nexport FSDP_VERSION=2\n"
                      "export FSDP_OFFLOAD_PARAMS=true\nexport FSDP_AUTO_WRAP_POLICY=TRANSFORMER_BASED_WRAP\n"
                      "export ACCELERATE_MIXED_PRECISION=bf16\nNCCL_DEBUG=WARN\n"),
             "env-file",
             {{"world_size", "16"},
              {"strategy", R"("fsdp2")"},
              {"cpu_offload", "true"},
              {"wrap", R"("default")"},
              {"precision", R"("bf16")"}});
  expect_run(input_of("NNODES=2\nNPROC_PER_NODE=8\nMASTER_ADDR=node0\n"), "env-file",
             {{"world_size", "16"}, {"nodes", "2"}, {"strategy", ""}});
  expect_run(input_of("export ACCELERATE_USE_FSDP=1\nexport FSDP_SHARDING_STRATEGY=2\nMASTER_PORT=29500\n"), "env-file",
             {{"strategy", R"("fsdp1")"}, {"reshard_after_forward", "false"}});
}

TEST(Effective, ValuesOfAnEnvironmentFileNeedNoQuotes) {
  const std::string text = "NNODES=2\nNPROC_PER_NODE=8\nAPI_TOKEN=<yours>\nRUN_NAME=second try\n";
  EXPECT_EQ(read_input(text, "conf/.env.train", {}).format, kEnvFile);
  EXPECT_TRUE(read_input(text, "train.env", {}).applicable);
  EXPECT_FALSE(read_input("NNODES=2 make all\n", "build.sh", {}).applicable);
  EXPECT_FALSE(read_input("NNODES=2\nmake all\n", ".env", {}).applicable);
}

}  // namespace
}  // namespace fx::knowledge
