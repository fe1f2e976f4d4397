#!/usr/bin/env python3
"""Writes seed inputs for one fuzz target into a folder: the examples of our own pages.  seeds.py TARGET FOLDER"""
import hashlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)
NAMES = {"yaml": "config.yaml", "toml": "train.toml", "json": "ds.json", "sh": "run.sh", "bash": "run.sh", "python": "train.py"}

PLANS = [
    {"model": {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
               "intermediate_size": 14336, "vocab_size": 128256},
     "hardware": {"gpu": "H100-80GB-SXM", "gpus_per_node": 8, "nodes": 2},
     "training": {"method": "full", "seq_len": 4096, "micro_batch": 1, "optimizer": "adamw", "sharding": "fsdp2",
                  "activation_checkpointing": "full", "param_dtype": "bf16"}, "data": {"tokens": 1e9}, "price_per_gpu_hour": 2.5},
    {"model": {"params_b": 70}, "hardware": {"gpu": "A100-80GB-SXM", "gpus_per_node": 8, "nodes": 1},
     "training": {"method": "qlora", "lora_rank": 16, "lora_targets": ["all-linear"], "base_quant": "nf4", "seq_len": 2048}},
    {"model": {"params_b": 7}, "hardware": {"gpu_memory_gib": 24, "gpus_per_node": 1, "nodes": 1}, "training": {}},
]


def fenced(folder: str, languages: set):
    for page in sorted((ROOT / folder).rglob("*.md")):
        for head, text in FENCE.findall(page.read_text(encoding="utf-8")):
            language = (head.split() or [""])[0]
            if language in languages:
                yield language, text


def inputs(target: str):
    if target in ("diagnose_failure", "log_reader"):
        for _, text in fenced("knowledge/causes", {"log"}):
            yield ("@" if target == "log_reader" else "") + text
    elif target in ("plan_finetune",):
        yield from (json.dumps(plan) for plan in PLANS)
    else:
        folder = "knowledge/code_rules" if target == "review_code" else "knowledge/rules"
        for i, (language, text) in enumerate(fenced(folder, set(NAMES))):
            # The first byte of convert_config's inputs chooses the target.
            yield (chr(i % 21) if target == "convert_config" else "") + f"=== {NAMES[language]}\n{text}"


def main() -> None:
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for text in inputs(target):
        (folder / hashlib.sha1(text.encode()).hexdigest()[:16]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
