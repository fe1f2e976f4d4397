"""The checks behind run.sh. Each returns (passed, what was measured); a check that this host cannot make says so."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/parity"))
import support  # noqa: E402  (after the path)

GPUS = int(os.environ["FX_GPUS"])
SKIPPED = "not made: needs two CUDA devices"


class Checks:
    def __init__(self, work):
        self.work = work
        self.model, self.tokens = work / "model", work / "tokens.bin"
        config = support.make_model(self.model, True)
        support.write_token_file(self.tokens, config.vocab_size, support.make_documents(config.vocab_size))

    def run(self, name, ranks=1, device="cuda", changes=None, **environment):
        """The step events of a small run."""
        spec = support.make_spec(self.model, self.tokens, self.work / name, ranks, **(changes or {}))
        return support.run(spec, self.work / f"run-{name}", FX_DEVICE=device, **environment)

    @staticmethod
    def furthest(ours, theirs):
        return max(abs(a["loss"] - b["loss"]) / abs(b["loss"]) for a, b in zip(ours, theirs))

    def parity_fp32(self):
        worst = self.furthest(self.run("cuda-fp32"), self.run("cpu-fp32", device="cpu"))
        return worst <= 1e-4, f"largest loss difference to the CPU {worst:.1e} (limit 1e-4)"

    def parity_bf16(self):
        bf16 = {"fsdp": {"param_dtype": "bf16"}}
        worst = self.furthest(self.run("cuda-bf16", changes=bf16), self.run("cpu-bf16", device="cpu", changes=bf16))
        return worst <= 2e-2, f"largest loss difference to the CPU {worst:.1e} (limit 2e-2)"

    def offload(self):
        worst = self.furthest(self.run("offload", changes={"fsdp": {"cpu_offload": True}}), self.run("no-offload"))
        return worst <= 1e-5, f"largest loss difference of offloaded shards {worst:.1e} (limit 1e-5)"

    def recomputing(self):
        worst = self.furthest(self.run("again", changes={"fsdp": {"activation_checkpointing": "full"}}), self.run("kept"))
        return worst <= 1e-5, f"largest loss difference {worst:.1e} (limit 1e-5)"

    def large(self, name, ranks, fsdp=None, **environment):
        """A model large enough for time and memory to mean something: 24 blocks of hidden size 1,024."""
        model, tokens = self.work / "large", self.work / "large.bin"
        if not model.exists():
            config = support.make_model(model, True, hidden=1024, layers=24)
            support.write_token_file(tokens, config.vocab_size, support.make_documents(config.vocab_size, lengths=(2048,) * 8))
        spec = support.make_spec(model, tokens, self.work / name, ranks, steps=8, data={"max_seq_len": 2048}, max_tokens_per_rank=2048,
                                 global_batch_size=ranks, fsdp={"param_dtype": "bf16", **(fsdp or {})})
        return spec, support.run(spec, self.work / f"run-{name}", FX_DEVICE="cuda", **environment)

    def memory(self):
        spec, steps = self.large("memory", 1)
        path = self.work / "memory.json"
        path.write_text(json.dumps(spec))
        dry = subprocess.run([support.ENGINE, "dry-run", str(path), "--json"], capture_output=True, text=True, check=True).stdout
        counted, measured = json.loads(dry)["memory"]["peak_bytes"], max(steps[-1]["peak_bytes"])
        return 0.7 <= measured / counted <= 1.3, f"{measured / 2**20:.0f} MiB at most, the dry run counted {counted / 2**20:.0f} (limit 0.7 to 1.3 of it)"

    def nccl(self):
        if GPUS < 2:
            return None, SKIPPED
        worst = self.furthest(self.run("nccl-2", ranks=2), self.run("nccl-1"))
        return worst <= 1e-5, f"largest loss difference of two ranks to one {worst:.1e} (limit 1e-5)"

    def overlap(self):
        if GPUS < 2:
            return None, SKIPPED
        def seconds(name, **environment):
            return statistics.median(s["tokens"] / s["tokens_per_s"] for s in self.large(name, 2, **environment)[1][2:])
        # The same run with every collective waited for by the thread that asked for it.
        together, one_by_one = seconds("overlap"), seconds("no-overlap", TORCH_NCCL_BLOCKING_WAIT="1", CUDA_LAUNCH_BLOCKING="1")
        return together < one_by_one, f"{together * 1000:.1f} ms a step, {one_by_one * 1000:.1f} without overlap"


def main():
    names = ["parity_fp32", "parity_bf16", "recomputing", "offload", "memory", "nccl", "overlap"]
    rows, failed = ["| check | result | measured |", "|---|---|---|"], False
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(pathlib.Path(folder))
        for name in names:
            try:
                passed, measured = getattr(checks, name)()
            except AssertionError as error:  # a rank failed: its log is the message
                passed, measured = False, str(error).replace("\n", " ")[-600:]
            failed |= passed is False
            rows.append(f"| {name} | {'not made' if passed is None else 'passed' if passed else 'FAILED'} | {measured} |")
            print(rows[-1], flush=True)
    (ROOT / "build/gpu-report.md").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
