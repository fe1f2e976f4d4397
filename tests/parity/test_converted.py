"""What convert_config writes is read by the packages' own loaders as the run that we say it is."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import types
import unittest
import unittest.mock

import yaml

EXPERT = os.environ.get("FX_EXPERT_BINARY", "fsdp-expert")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES_A_FOLDER = 8  # of each folder of rules; all pairs without the packages are a unit test
FENCE = re.compile(r"^```(\w+) good([^\n]*)\n(.*?)^```", re.M | re.S)


def good_examples():
    """(where, text, context) of the good examples on our rules' pages."""
    for folder in sorted(p for p in (ROOT / "knowledge/rules").iterdir() if p.is_dir()):
        for page in sorted(folder.glob("*.md"))[:PAGES_A_FOLDER]:
            for _, rest, text in FENCE.findall(page.read_text()):
                context = re.search(r"context=(\{.*\})", rest)
                context = json.loads(context.group(1)) if context else {}
                context.pop("versions", None)
                yield page.name, text, context


def convert(text, to, context):
    arguments = {"text": text, "to": to, "context": context}
    done = subprocess.run([EXPERT, "call", "convert_config"], input=json.dumps(arguments), capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"converted": False}


def conversions(to):
    """Every different output for one target, with the page it comes from."""
    seen = set()
    for page, text, context in good_examples():
        answer = convert(text, to, context)
        if answer["converted"] and answer["text"] not in seen:
            seen.add(answer["text"])
            yield page, answer


def sharded(run):
    return run.get("strategy") in ("fsdp1", "fsdp2", "hsdp")


def import_without_models(package, module):
    """A module of a package whose own __init__ would import GPU kernels."""
    import importlib
    import importlib.util

    if package not in sys.modules:
        stub = types.ModuleType(package)
        stub.__path__ = list(importlib.util.find_spec(package).submodule_search_locations)
        sys.modules[package] = stub
    return importlib.import_module(f"{package}.{module}")


class Converted(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check_all(self, to, check):
        count = 0
        for page, answer in conversions(to):
            with self.subTest(page=page, to=to, text=answer["text"]):
                check(answer["text"], answer["effective"])
            count += 1
        self.assertGreater(count, 15)

    def test_accelerate_launches_the_plugin_we_describe(self):
        from accelerate.commands.config.config_args import load_config_from_file
        from accelerate.commands.launch import _validate_launch_command, launch_command_parser
        from accelerate.utils import FullyShardedDataParallelPlugin
        from accelerate.utils.launch import prepare_multi_gpu_env

        def check(text, run):
            path = self.work / "accelerate.yaml"
            path.write_text(text)
            config = load_config_from_file(str(path))
            self.assertEqual(config.distributed_type, "FSDP" if sharded(run) else config.distributed_type)
            # Without a GPU the fp8 libraries are refused before anything is read.
            if "world_size" not in run or not sharded(run) or run.get("precision") == "fp8":
                return
            self.assertEqual(config.num_processes, run["world_size"])
            arguments = launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
            arguments, _, _ = _validate_launch_command(arguments)
            before = dict(os.environ)
            # Whether the port is free is asked of "localhost", which a bare machine may not know.
            with unittest.mock.patch("accelerate.utils.launch.is_port_in_use", return_value=False):
                os.environ.update({k: v for k, v in prepare_multi_gpu_env(arguments).items() if k.startswith("FSDP")})
            # FSDP1 broadcasts from rank 0 on a GPU only.
            if run["fsdp_version"] == 1:
                os.environ.update(FSDP_SYNC_MODULE_STATES="false", FSDP_CPU_RAM_EFFICIENT_LOADING="false")
            try:
                plugin = FullyShardedDataParallelPlugin()
            finally:
                os.environ.clear()
                os.environ.update(before)
            self.check_plugin(plugin, run)

        self.check_all("accelerate", check)

    def check_plugin(self, plugin, run):
        self.assertEqual(plugin.fsdp_version, run["fsdp_version"])
        if run["fsdp_version"] == 2:
            self.assertEqual(plugin.reshard_after_forward, run["reshard_after_forward"])
            self.assertEqual(type(plugin.cpu_offload).__name__ == "CPUOffloadPolicy", run["cpu_offload"])
            self.assertEqual(plugin.cpu_ram_efficient_loading, run["ram_efficient_loading"])
        else:
            keeps = "GRAD_OP" in plugin.sharding_strategy.name or "ZERO2" in plugin.sharding_strategy.name
            self.assertEqual(not keeps, run["reshard_after_forward"])
            self.assertEqual(plugin.cpu_offload.offload_params, run["cpu_offload"])
        self.assertTrue(plugin.state_dict_type.name.lower().startswith(run["state_dict"]))
        self.assertEqual(plugin.activation_checkpointing, run["activation_checkpointing"] != "none")

    def test_training_arguments_hold_the_numbers_we_describe(self):
        from transformers import HfArgumentParser, TrainingArguments

        names = {"micro_batch": "per_device_train_batch_size", "grad_accum": "gradient_accumulation_steps",
                 "learning_rate": "learning_rate", "weight_decay": "weight_decay", "max_grad_norm": "max_grad_norm",
                 "steps": "max_steps", "epochs": "num_train_epochs", "seed": "seed", "output": "output_dir"}

        def check(text, run):
            values = json.loads(text)
            # A CPU refuses fp16 whatever the file says; all the rest is read as it is.
            values.update(use_cpu=True, fp16=False, report_to=[])
            before = dict(os.environ)
            try:
                arguments, = HfArgumentParser(TrainingArguments).parse_dict(values, allow_extra_keys=True)
            finally:
                os.environ.clear()
                os.environ.update(before)
            for field, name in names.items():
                if field in run:
                    self.assertEqual(getattr(arguments, name), run[field], name)
            self.assertEqual(bool(arguments.fsdp), sharded(run))

        self.check_all("trainer", check)

    def test_torchtitan_parses_the_job_we_describe(self):
        manager = import_without_models("torchtitan", "config.manager")

        def check(text, run):
            path = self.work / "job.toml"
            path.write_text(text)
            tomllib.loads(text)
            config = manager.ConfigManager().parse_args(["--job.config_file", str(path)])
            mesh, parallel = run.get("mesh", {}), config.parallelism
            self.assertEqual(parallel.data_parallel_replicate_degree, mesh.get("dp_replicate", 1))
            if "dp_shard" in mesh:
                self.assertIn(parallel.data_parallel_shard_degree, (mesh["dp_shard"], -1))
            self.assertEqual(parallel.tensor_parallel_degree, mesh.get("tp", 1))
            self.assertEqual(config.training.local_batch_size, run["micro_batch"])
            self.assertEqual(config.training.seq_len, run["seq_len"])
            self.assertEqual(config.training.steps, run["steps"])
            self.assertEqual(config.training.enable_cpu_offload, run["cpu_offload"])
            self.assertEqual(config.optimizer.lr, run["learning_rate"])
            self.assertEqual(config.activation_checkpoint.mode, run["activation_checkpointing"])
            self.assertEqual(config.lr_scheduler.warmup_steps, run["warmup_steps"])

        self.check_all("torchtitan", check)

    def test_axolotl_schema_accepts_the_file_we_describe(self):
        from axolotl.utils.schemas.config import AxolotlInputConfig

        def check(text, run):
            values = yaml.safe_load(text)
            values.pop("context_parallel_size", None)  # needs ring_flash_attn, which needs a GPU
            config = AxolotlInputConfig(**values)
            self.assertEqual(config.micro_batch_size, run["micro_batch"])
            self.assertEqual(config.learning_rate, run["learning_rate"])
            lora = run.get("lora", {})
            self.assertEqual(config.adapter, lora.get("kind"))
            if lora:
                self.assertEqual((config.lora_r, config.lora_alpha, config.lora_dropout), tuple(lora.get(k) for k in ("rank", "alpha", "dropout")))
                targets = "all-linear" if config.lora_target_linear else ",".join(config.lora_target_modules or []) or None
                self.assertEqual(targets, lora.get("targets"))
            if sharded(run):
                self.assertEqual(int(config.fsdp_version), run["fsdp_version"])
                self.assertEqual(config.fsdp_config.offload_params, run["cpu_offload"])
                self.assertTrue(config.fsdp_config.state_dict_type.lower().startswith(run["state_dict"]))
                if run["fsdp_version"] == 2:
                    self.assertEqual(config.fsdp_config.reshard_after_forward, run["reshard_after_forward"])

        self.check_all("axolotl", check)


if __name__ == "__main__":
    unittest.main()
