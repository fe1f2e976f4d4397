"""One rank of the reference: Python FSDP2 on the same weights and documents. Prints a JSON list of [loss, grad_norm] a step.

fsdp2_reference.py SPEC.json [gloo|shm]; shm is our own backend, from the folder FX_PYTHON_MODULES.
"""
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM

import support


def main(spec_path, backend="gloo"):
    if backend == "shm":
        sys.path.insert(0, os.environ["FX_PYTHON_MODULES"])
        import fsdp_shm  # noqa: F401  (registers the backend)
    with open(spec_path, encoding="utf-8") as file:
        spec = json.load(file)
    dist.init_process_group(backend)
    rank, world = dist.get_rank(), dist.get_world_size()
    model = AutoModelForCausalLM.from_pretrained(spec["model"], dtype=torch.float32, attn_implementation="eager")
    for layer in model.model.layers:
        fully_shard(layer)
    fully_shard(model)
    options = spec["optimizer"]
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": options["weight_decay"]}, {"params": vectors, "weight_decay": 0.0}],
                                  lr=options["lr"], betas=tuple(options["betas"]), eps=1e-8)
    documents = support.make_documents(model.config.vocab_size)
    valid = sum(label != support.IGNORED for _, labels in documents for label in labels)
    # Every rank takes part in every forward: the shorter share is filled up with documents without labels.
    share = documents[rank::world] + [([0], [support.IGNORED])] * (len(documents[0::world]) - len(documents[rank::world]))
    rows = []
    for _ in range(spec["steps"]):
        total = torch.zeros(())
        for ids, labels in share:
            logits = model(torch.tensor([ids])).logits[0].float()
            loss = F.cross_entropy(logits, torch.tensor(labels), ignore_index=support.IGNORED, reduction="sum") / valid
            (loss * world).backward()  # FSDP2 averages over ranks
            total += loss.detach()
        dist.all_reduce(total)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), options["clip_grad"]).full_tensor().item()
        optimizer.step()
        optimizer.zero_grad()
        rows.append([total.item(), norm])
    if rank == 0:
        print(json.dumps(rows), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
