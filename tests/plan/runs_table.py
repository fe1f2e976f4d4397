"""Measured, published runs as arguments of plan_finetune. The table of runs is not part of this repository.

One run a row. Columns used: model, params_b, hidden, layers, heads, kv_heads, intermediate, vocab, gpus, nodes, gpu, seq_len, micro_batch,
grad_accum, precision (compute/reduce or compute/amp), master_dtype, sharding, activation_ckpt, cpu_offload, compile, fp8, optimizer, lora,
lora_targets, base_quant, loss_impl, tp, pp, cp, ep, outcome, quality, source_group, peak_mem_gib with mem_kind, tokens_per_s_per_gpu.
models/NAME/config.json beside the table are the models' config files, if there are any.
"""
import csv
import json
import pathlib

SIZES = {"hidden": "hidden_size", "layers": "num_hidden_layers", "heads": "num_attention_heads", "kv_heads": "num_key_value_heads",
         "intermediate": "intermediate_size", "vocab": "vocab_size"}
SHARDING = {"fsdp1-full": "fsdp1", "fsdp2-full": "fsdp2", "megatron-3d(zero1)": "zero1"}
OPTIMIZER = {"adam": "adamw", "adam-distributed": "adamw", "adamw8bit": "adamw-8bit", "paged-adamw8bit": "paged-adamw-8bit"}
KIND = {"active": "allocated", "unspecified": "reserved"}


def number(row: dict, key: str):
    return float(row[key]) if row.get(key) not in (None, "") else None


def measure_of(row: dict) -> str:
    """Which of the planner's figures the row's peak is compared with."""
    return KIND.get(row["mem_kind"], row["mem_kind"])


def training_of(row: dict) -> dict:
    compute, _, second = row["precision"].replace("fp16-amp", "fp16/amp").partition("/")
    optimizer, _, in_backward = row["optimizer"].partition("+")
    quant = row["base_quant"] if row["base_quant"] not in ("", "none") else None
    targets, _, saved = row["lora_targets"].partition(" + trainable ")
    rank = row["lora"] if row["lora"].replace(".", "", 1).isdigit() else None
    out = {key: number(row, key) for key in ("seq_len", "micro_batch", "grad_accum", "tp", "pp", "cp", "ep")}
    out |= {"method": "qlora" if quant else "lora" if row["lora"] else "full", "param_dtype": compute, "amp": second == "amp" or None,
            "reduce_dtype": second if second not in ("", "amp") else None, "master_dtype": row["master_dtype"],
            "optimizer": OPTIMIZER.get(optimizer, optimizer), "optimizer_in_backward": bool(in_backward) or None,
            "activation_checkpointing": row["activation_ckpt"], "cpu_offload": row["cpu_offload"] == "1", "base_quant": quant,
            "sharding": SHARDING.get(row["sharding"], row["sharding"]), "loss_impl": row["loss_impl"], "compile": row["compile"] == "1",
            "fp8": row["fp8"] == "1", "lora_rank": float(rank) if rank else None}
    if targets:
        out["lora_targets"] = ["all-linear"] if targets.startswith("all") else targets.split(",")
    if saved:
        out["modules_to_save"] = saved.split(",")
    return {key: value for key, value in out.items() if value not in (None, "")}


def arguments_of(row: dict, models: dict) -> dict:
    gpus, nodes = int(float(row["gpus"])), int(float(row["nodes"] or 1))
    model = models.get(row["model"]) or {name: number(row, key) for key, name in SIZES.items() if number(row, key)}
    return {"model": {**model, "params_b": number(row, "params_b")}, "training": training_of(row), "answers": False,
            "hardware": {"gpu": row["gpu"], "gpus_per_node": max(1, gpus // nodes), "nodes": nodes}}


def read_models(folder: pathlib.Path) -> dict:
    return {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/config.json")}


def read_runs(path: pathlib.Path) -> list:
    """Rows whose configuration is known."""
    rows = csv.DictReader(path.open())
    return [row for row in rows if row["seq_len"] and row["micro_batch"] and row["quality"] != "C"]
