"""One rank of Python FSDP2: bytes of tensors that it holds at most in a training step, by LibTorch's own profiler. Rank 0 prints the
largest of all ranks of each case as JSON.

fsdp2_memory.py MODEL_FOLDER '[["fp32" or "bf16", RESHARD, TOKENS], ...]', under RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
"""
import gc
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.profiler import ProfilerActivity, profile, record_function
from transformers import AutoConfig, AutoModelForCausalLM


def peaks_of(events):
    """The most bytes at once in each marked phase, and what is left at the end. Tensors from before the profile do not count."""
    rows = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]" and e.device_type() == torch.autograd.DeviceType.CPU)
    marks = {e.name()[6:]: (e.start_ns(), e.end_ns()) for e in events if e.name().startswith("phase ")}
    now, peaks = 0, dict.fromkeys(marks, 0)
    for time, change in rows:
        now += change
        for phase, (begin, end) in marks.items():
            if begin <= time <= end:
                peaks[phase] = max(peaks[phase], now)
    return {**peaks, "after": now}


def measure(folder, dtype, reshard, tokens):
    """Peaks of this rank."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as profiler:
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), dtype=torch.float32, attn_implementation="sdpa")
        model.config.use_cache = False
        policy = MixedPrecisionPolicy(param_dtype={"bf16": torch.bfloat16, "fp32": torch.float32}[dtype], reduce_dtype=torch.float32)
        for layer in model.model.layers:
            fully_shard(layer, mp_policy=policy, reshard_after_forward=reshard)
        fully_shard(model, mp_policy=policy, reshard_after_forward=reshard)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        ids = torch.arange(tokens)[None] % 7
        # The second step is measured: optimizer states are there from the first one on.
        for step in range(2):
            with record_function("phase step" if step else "first"):
                logits = model(ids).logits[0].float()
                loss = F.cross_entropy(logits, ids[0] + 1, reduction="sum")
                del logits
                loss.backward()
                del loss
            with record_function("phase optimizer" if step else "first"):
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            optimizer.zero_grad()
    return peaks_of(profiler.profiler.kineto_results.events())


def main(folder, cases):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rows = []
    for dtype, reshard, tokens in json.loads(cases):
        gc.collect()  # tensors of the case before must not be freed in this one
        peaks = [None] * dist.get_world_size()
        dist.all_gather_object(peaks, measure(folder, dtype, reshard, tokens))
        rows.append({phase: max(p[phase] for p in peaks) for phase in peaks[0]})
    if dist.get_rank() == 0:
        print(json.dumps(rows), flush=True)
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # Gloo's threads sometimes abort an orderly end


if __name__ == "__main__":
    main(*sys.argv[1:])
