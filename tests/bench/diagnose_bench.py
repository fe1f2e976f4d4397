#!/usr/bin/env python3
"""How fast and in how much memory `fsdp-expert diagnose` reads logs: three kinds of 64 MiB and one of 5,000 ranks.

  diagnose_bench.py [--bin build/bin/fsdp-expert] [--mib 64]      prints one line a kind: MB/s of user time, peak memory
"""
import argparse
import os
import pathlib
import random
import subprocess
import tempfile

WATCHDOG = ("[rank{r}]:[E626 03:50:10.02 ProcessGroupNCCL.cpp:632] [Rank {r}] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum={s}, OpType=_ALLGATHER_BASE, NumelIn=151257088, NumelOut=605028352, Timeout(ms)=600000) ran for "
            "600010 milliseconds before timing out.\n")
ORDINARY = ("[rank{i}]: Loading checkpoint shards: 61%|######1   | 8/13 [02:40<01:41, 20.2s/it]\n",
            "(WorkerDict pid={i}) INFO Avg prompt throughput: 12.0 tokens/s, Running: 3 reqs\n",
            "n12:{i}:40870 [6] NCCL INFO Channel 03/0 : 5[5] -> 6[6] via P2P/IPC\n",
            "2026-03-01 10:00:00,120 [{i}] DEBUG data pipeline: prefetched another batch of samples for the next few steps\n")
LOUD = ("[rank{i}]: RuntimeError: CUDA error: an illegal memory access was encountered\n",
        "[rank{i}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 6 has a total capacity of 79.00 GiB\n",
        "[rank{i}]: step {i} loss nan, saving checkpoint out/step_{i}: No space left on device\n",
        "[rank{i}]: File \"train.py\", line {i}, in forward\n")


def steps(i, rng):
    return (f"[rank{i % 64}]:2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d},{i % 1000:03d} - root - INFO - step: {i} loss: "
            f"{2 + rng.random():.4f} grad_norm: {rng.random():.3f} memory: 61.2GiB(77%) tps: 5,112 mfu: 30.5%\n")


def picked(lines):
    return lambda i, rng: rng.choice(lines).format(i=i)


def fill(path, line, size):
    rng, written, i = random.Random(1), 0, 0
    with path.open("w") as out:
        while True:
            text = line(i, rng)
            written, i = written + len(text), i + 1
            if written > size:
                return
            out.write(text)


def five_thousand_ranks(path):
    with path.open("w") as out:
        for rank in range(5000):
            if rank != 3777:
                out.write(WATCHDOG.format(r=rank, s=30413))


def measure(binary, path):
    with open(os.devnull, "w") as null:
        process = subprocess.Popen([binary, "diagnose", "--json", str(path)], stdout=null)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"error: diagnose failed on {path.name}")
    return usage.ru_utime, usage.ru_maxrss / 1024


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--bin", default="build/bin/fsdp-expert")
    a.add_argument("--mib", type=int, default=64)
    o = a.parse_args()
    size = o.mib << 20
    with tempfile.TemporaryDirectory() as folder:
        for name, line in (("steps", steps), ("ordinary", picked(ORDINARY)), ("loud", picked(LOUD)), ("5000 ranks", None)):
            path = pathlib.Path(folder) / f"{name.replace(' ', '_')}.log"
            five_thousand_ranks(path) if line is None else fill(path, line, size)
            best = min(measure(o.bin, path) for _ in range(3))
            megabytes = path.stat().st_size / 1e6
            print(f"{name:12} {megabytes:6.1f} MB  {megabytes / best[0]:7.0f} MB/s  {best[0]:6.2f} s user  {best[1]:6.0f} MiB peak")
            path.unlink()


if __name__ == "__main__":
    main()
