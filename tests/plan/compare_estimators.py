#!/usr/bin/env python3
"""Compares plan_finetune with other memory estimators on measured, published runs. Prints the tables of docs/planner-comparison.md.

  compare_estimators.py RUNS.csv [--models DIR] [--bin build/bin/fsdp-expert]

RUNS.csv: see runs_table.py. DIR/NAME/config.json are the models' config files (default: models beside RUNS.csv).

accelerate's own function runs (it must be installed). DeepSpeed's and LLaMA-Factory's published formulas are written out below.
"""
import argparse
import json
import pathlib
import statistics
import subprocess

from accelerate.commands.estimate import estimate_training_usage
from runs_table import arguments_of, measure_of, number, read_models, read_runs

GIB = 2.0**30


def plan(binary: str, row: dict, models: dict) -> dict:
    done = subprocess.run([binary, "call", "plan_finetune"], input=json.dumps(arguments_of(row, models)), capture_output=True, text=True, timeout=30)
    return json.loads(done.stdout) if done.returncode == 0 else {}


class Run:
    """A row, with what the other estimators ask for."""

    def __init__(self, row: dict, answer: dict):
        self.row, self.answer = row, answer
        self.params = answer["parameters"]["total"]
        self.measured = number(row, "peak_mem_gib")
        self.gpus = float(row["gpus"])
        self.lora, self.quant = bool(row["lora"]), row["base_quant"] not in ("", "none")
        self.offload = row["cpu_offload"] == "1"
        self.sharded = row["sharding"] not in ("none", "ddp") and self.gpus > 1

    def group(self) -> str:
        if self.offload:
            return "CPU offload"
        if self.quant:
            return "QLoRA"
        if self.lora:
            return "LoRA"
        return "full, sharded" if self.sharded else "full, one GPU"


def ours(run: Run):
    return run.answer["memory_gib"][measure_of(run.row)]


def ours_allocated(run: Run):
    return run.answer["memory_gib"]["allocated"]


def accelerate(run: Run):
    """`accelerate estimate-memory`, column "Training using Adam"; it knows no GPUs, so the best case divides by them."""
    if run.lora or run.offload:
        return None
    dtype = "float32" if run.row["master_dtype"] == "fp32" and run.row["precision"].startswith("fp32") else "bfloat16"
    bytes_ = max(estimate_training_usage(int(4 * run.params), dtype).values())
    return bytes_ / (run.gpus if run.sharded else 1) / GIB


def deepspeed(run: Run):
    """estimate_zero2/zero3_model_states_mem_needs: 4 x largest layer + 18 / GPUs (ZeRO-3), 4 + 16 / GPUs (ZeRO-2)."""
    if run.lora:
        return None
    hidden, layers = number(run.row, "hidden"), number(run.row, "layers")
    largest = max((number(run.row, "vocab") or 0) * (hidden or 0), run.params / layers if layers else 0)
    if run.row["sharding"] == "zero2":
        bytes_ = 2 * run.params if run.offload else 4 * run.params + 16 * run.params / run.gpus
    else:
        bytes_ = 4 * largest + (0 if run.offload else 18 * run.params / (run.gpus if run.sharded else 1))
    return bytes_ / GIB


def llama_factory(run: Run):
    """Its hardware table, general column, in GB: 18 (8 in pure bf16) a billion parameters, 2 with LoRA, 1/2 with a 4-bit base."""
    if run.offload:
        return None
    per_billion = 0.5 if run.quant else 2 if run.lora else 8 if run.row["master_dtype"] in ("bf16", "fp16") else 18
    return per_billion * run.params / (run.gpus if run.sharded else 1) / GIB


def summary(runs: list, estimate) -> str:
    errors = [(value - run.measured) / run.measured for run in runs if (value := estimate(run)) is not None]
    if not errors:
        return "-"
    return f"{100 * statistics.median(map(abs, errors)):.0f} ({100 * statistics.median(errors):+.0f})"


def within(runs: list, estimate, share: float) -> str:
    hits = [abs(value - run.measured) <= share * run.measured for run in runs if (value := estimate(run)) is not None]
    return f"{100 * statistics.mean(hits):.0f}" if hits else "-"


def table(runs: list) -> None:
    columns = [("fsdp-expert", ours), ("fsdp-expert, allocated figure only", ours_allocated), ("accelerate", accelerate),
               ("DeepSpeed", deepspeed), ("LLaMA-Factory", llama_factory)]
    print("| runs | n | " + " | ".join(name for name, _ in columns) + " |\n|---|---|" + "---|" * len(columns))
    groups = sorted({run.group() for run in runs}) + ["all"]
    for group in groups:
        some = [run for run in runs if group in ("all", run.group())]
        print(f"| {group} | {len(some)} | " + " | ".join(summary(some, estimate) for _, estimate in columns) + " |")
    print("| all, % within 10 % | | " + " | ".join(within(runs, estimate, 0.1) for _, estimate in columns) + " |")


def ranges(runs: list) -> None:
    inside = [run.answer["memory_gib"]["low"] <= run.measured <= run.answer["memory_gib"]["high"] for run in runs]
    widths = [run.answer["memory_gib"]["high"] / run.answer["memory_gib"]["low"] for run in runs]
    print(f"\nRange: {100 * statistics.mean(inside):.0f} % of {len(runs)} measured peaks lie between low and high; median high / low "
          f"{statistics.median(widths):.2f}.")


def speed(pairs: list) -> None:
    errors = {}
    for row, answer in pairs:
        measured = number(row, "tokens_per_s_per_gpu")
        if measured and row["outcome"] != "oom":
            errors.setdefault(row["source_group"], []).append(abs(answer["tokens_per_s_per_gpu"] - measured) / measured)
    every = [error for group in errors.values() for error in group]
    print(f"Speed: median error {100 * statistics.median(every):.0f} % over {len(every)} runs; mean of the {len(errors)} sources' medians "
          f"{100 * statistics.mean(statistics.median(group) for group in errors.values()):.0f} %.")


def verdict(pairs: list) -> None:
    good = [answer["fits"] for row, answer in pairs if row["outcome"] != "oom"]
    bad = [not answer["fits"] for row, answer in pairs if row["outcome"] == "oom"]
    print(f"Fits: right on {sum(good)} of {len(good)} runs that worked and {sum(bad)} of {len(bad)} that ran out of memory.")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--bin", default="build/bin/fsdp-expert")
    o = parser.parse_args()
    folder = o.models or o.runs.parent / "models"
    models, rows = read_models(folder), read_runs(o.runs)
    pairs = [(row, answer) for row in rows if (answer := plan(o.bin, row, models)).get("applicable")]
    runs = [Run(row, answer) for row, answer in pairs if row["peak_mem_gib"]]
    print(f"{len(pairs)} of {len(rows)} runs planned.\n")
    table(runs)
    ranges(runs)
    speed(pairs)
    verdict(pairs)


if __name__ == "__main__":
    main()
