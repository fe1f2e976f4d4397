"""One rank: every collective of the module fsdp_shm against Gloo on the same tensors. Rank 0 prints "same"."""
import os
import sys

import torch
import torch.distributed as dist

sys.path.insert(0, os.environ["FX_PYTHON_MODULES"])
import fsdp_shm  # noqa: F401, E402  (registers the backend)

DTYPES = (torch.float32, torch.bfloat16)


def mine(dtype, count):
    return (torch.arange(count, dtype=torch.float32) % 7 + dist.get_rank()).to(dtype)


def gather(group, dtype):
    out = torch.empty(5 * dist.get_world_size(), dtype=dtype)
    dist.all_gather_into_tensor(out, mine(dtype, 5), group)
    return out


def gather_list(group, dtype):
    out = [torch.empty(3, dtype=dtype) for _ in range(dist.get_world_size())]
    dist.all_gather(out, mine(dtype, 3), group)
    return torch.cat(out)


def reduce_scatter(op):
    def call(group, dtype):
        out = torch.empty(4, dtype=dtype)
        dist.reduce_scatter_tensor(out, mine(dtype, 4 * dist.get_world_size()), op, group)
        return out
    return call


def all_reduce(op):
    def call(group, dtype):
        out = mine(dtype, 6)
        dist.all_reduce(out, op, group)
        return out
    return call


def later(group, dtype):
    out = mine(dtype, 9)
    work = dist.all_reduce(out, group=group, async_op=True)
    work.wait()
    return out


def broadcast(group, dtype):
    out = mine(dtype, 2)
    dist.broadcast(out, src=1, group=group)
    return out


def objects(group, dtype):
    out = [None] * dist.get_world_size()
    dist.all_gather_object(out, {"rank": dist.get_rank(), "dtype": str(dtype)}, group)
    return out


def main():
    dist.init_process_group("gloo")
    gloo, shm = dist.group.WORLD, dist.new_group(backend="shm")
    op = dist.ReduceOp
    calls = {"gather": gather, "gather list": gather_list, "broadcast": broadcast, "objects": objects, "later": later,
             **{f"reduce-scatter {o}": reduce_scatter(o) for o in (op.SUM, op.AVG)}, **{f"all-reduce {o}": all_reduce(o) for o in (op.SUM, op.AVG, op.MAX, op.MIN)}}
    for name, call in calls.items():
        for dtype in DTYPES:
            ours, theirs = call(shm, dtype), call(gloo, dtype)
            same = torch.allclose(ours.float(), theirs.float(), rtol=1e-2 if dtype == torch.bfloat16 else 1e-6) if torch.is_tensor(ours) else ours == theirs
            if not same:
                sys.exit(f"{name} {dtype}: {ours} is not {theirs}")
    dist.barrier(shm)
    if dist.get_rank() == 0:
        print('"same"', flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
