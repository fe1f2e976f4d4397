"""One rank of Python FSDP2 on the benchmark's documents, with its best settings. Rank 0 prints one JSON line.

fsdp2_side.py SETTINGS.json, under RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
"""
import ctypes
import gc
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from transformers import AutoModelForCausalLM


def high_water_bytes():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def reset_high_water():
    """Loading a whole model on every rank is not what is compared: only training counts."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def padded(documents):
    """One row a document. Returns micro-batches: the model's arguments and the labels."""
    width = max(map(len, documents))
    ids = torch.zeros(len(documents), width, dtype=torch.long)
    labels = torch.full((len(documents), width), -100)
    for row, document in enumerate(documents):
        ids[row, :len(document)] = torch.tensor(document)
        labels[row, :len(document) - 1] = torch.tensor(document[1:])
    mask = None if all(len(d) == width for d in documents) else torch.tensor([[int(i < len(d)) for i in range(width)] for d in documents])
    return [({"input_ids": ids, "attention_mask": mask}, labels)]


def grouped(documents):
    """Two padded micro-batches, the shorter documents in one: little padding, half the memory."""
    documents = sorted(documents, key=len)
    middle = len(documents) // 2
    return padded(documents[:middle]) + padded(documents[middle:])


def packed(documents):
    """One row of all documents behind one another; a mask keeps attention inside each."""
    ids = torch.tensor([[token for d in documents for token in d]])
    labels = torch.tensor([[label for d in documents for label in d[1:] + [-100]]])
    positions = torch.tensor([[i for d in documents for i in range(len(d))]])
    owner = torch.tensor([n for n, d in enumerate(documents) for _ in d])
    allowed = (owner[:, None] == owner[None, :]).tril()
    return [({"input_ids": ids, "position_ids": positions, "attention_mask": allowed[None, None]}, labels)]


LAYOUTS = {"padded": padded, "grouped by length": grouped, "packed": packed}


def main(path):
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    torch.set_num_threads(1)
    if settings["backend"] == "shm":
        sys.path.insert(0, os.environ["FX_PYTHON_MODULES"])
        import fsdp_shm  # noqa: F401  (registers the backend)
    dist.init_process_group(settings["backend"])
    rank, world = dist.get_rank(), dist.get_world_size()
    model = AutoModelForCausalLM.from_pretrained(settings["model"], dtype=torch.float32, attn_implementation="sdpa")
    model.train()
    model.config.use_cache = False
    if settings["checkpointing"]:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[settings["dtype"]]
    policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        fully_shard(layer, mp_policy=policy, reshard_after_forward=settings["reshard"])
    fully_shard(model, mp_policy=policy, reshard_after_forward=settings["reshard"])
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}], lr=settings["lr"],
                                  betas=(0.9, 0.95), eps=1e-8, fused=True)
    with open(settings["shares"], encoding="utf-8") as file:
        shares = json.load(file)
    valid = sum(len(d) - 1 for share in shares for d in share)
    batches = LAYOUTS[settings["layout"]](shares[rank])
    reset_high_water()
    seconds, losses, cpu = [], [], time.process_time()
    for _ in range(settings["steps"]):
        dist.barrier()
        began = time.perf_counter()
        total = torch.zeros(())
        for number, (arguments, labels) in enumerate(batches, 1):
            model.set_requires_gradient_sync(number == len(batches))
            logits = model(**arguments).logits.flatten(0, 1).float()
            loss = F.cross_entropy(logits, labels.flatten(), ignore_index=-100, reduction="sum") / valid
            del logits
            (loss * world).backward()  # FSDP2 averages over ranks
            total += loss.detach()
            del loss
        dist.all_reduce(total)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        dist.barrier()
        seconds.append(time.perf_counter() - began)
        losses.append(total.item())
    peaks = [None] * world
    dist.all_gather_object(peaks, high_water_bytes())
    if rank == 0:
        print(json.dumps({"seconds": seconds, "losses": losses, "peak_bytes": max(peaks), "cpu_seconds": time.process_time() - cpu}), flush=True)
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # Gloo's threads sometimes abort an orderly end


if __name__ == "__main__":
    main(sys.argv[1])
