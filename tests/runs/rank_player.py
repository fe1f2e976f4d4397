#!/usr/bin/env python3
"""Plays one rank of a run, as fsdp-engine would be started, for tests of the supervisor: real processes, exit codes and signals, no training.

The run's name says what happens, "steps" how long it goes on (0.1 s a step):
  ok              all steps, then success
  die:R           rank R leaves with exit code 3 after step 2, the others wait for it for ever
  deaf:R          the same, and the others ignore SIGTERM"""
import json
import os
import signal
import sys
import time

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
spec = json.load(open(sys.argv[2], encoding="utf-8"))
what, _, victim = spec.get("name", "ok").partition(":")
stopping = False


def event(kind, **fields):
    if rank == 0:
        with open(os.environ["FX_EVENTS"], "a", encoding="utf-8") as file:
            file.write(json.dumps({"event": kind, "time_ms": int(time.time() * 1000), **fields}) + "\n")


def on_term(number, frame):
    global stopping
    stopping = what != "deaf"


signal.signal(signal.SIGTERM, on_term)
print(f"rank {rank} of {world} with {os.environ['OMP_NUM_THREADS']} thread(s) at {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", flush=True)
event("start", ranks=world, steps=spec["steps"], first_step=0, parameters=10, backend="gloo", param_dtype="fp32", reduce_dtype="fp32", packs=1, documents=1)
step = 0
while step < spec["steps"] and not stopping:
    time.sleep(0.1)
    if what in ("die", "deaf") and step == 2:
        if rank == int(victim):
            print(json.dumps({"event": "error", "time_ms": 0, "rank": rank, "what": "the data ended early", "where": "data"}), file=sys.stderr, flush=True)
            sys.exit(3)
        while not stopping:
            time.sleep(0.1)
        sys.exit(1)
    step += 1
    event("step", step=step, loss=3.0 / step, grad_norm=1.0, lr=0.1, tokens=100, tokens_per_s=1000.0, comm_ms=1.0, comm_bytes=10,
          peak_bytes=[1000000.0] * world)
event("finish", step=step, state="stopped" if stopping else "succeeded", output="", seconds=1.0)
