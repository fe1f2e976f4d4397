#!/usr/bin/env python3
"""fsdp-engine against Python FSDP2: same weights, documents, LibTorch and machine, run in turns. Writes build/bench/engine.{json,md}.

bench_engine.py [--modes bf16,fp32,checkpointed,packed] [--alternations 3] [--steps 2] [--third]
First FSDP2 tries one step of each of its settings (packed: rows of single documents grouped by length, or one row in all; parameters
kept or resharded): the fastest one plays. Then both sides in turns, each with one warm-up step and --steps measured ones a turn.
--third: FSDP2 with the same setting on our shared-memory backend plays too (`fsdp2_on_shm`): what faster transport alone gives it, so that
the rest of the engine's lead is computation.
"""
import argparse
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import workloads
from workloads import MODEL, RANKS, ROOT

HERE = pathlib.Path(__file__).resolve().parent
ENGINE = pathlib.Path(os.environ.get("FX_ENGINE_BINARY", ROOT / "build/bin/fsdp-engine"))
PYTHON_MODULES = pathlib.Path(os.environ.get("FX_PYTHON_MODULES", ROOT / "build/release/python"))
LR = 2e-4
MODES = {  # dtype, checkpointing, documents, layouts that FSDP2 may choose from, tokens a document at most
    "bf16": ("bf16", False, "fixed", ("padded",), 512),
    "fp32": ("fp32", False, "fixed", ("padded",), 512),
    "checkpointed": ("bf16", True, "fixed", ("padded",), 512),
    "packed": ("bf16", False, "packed", ("grouped by length", "packed"), 4096),  # 32 tokens a rank are left free, so that best-fit packing succeeds
}


def cpu_seconds():
    """Of all ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class TookTooLong(Exception):
    pass


def start(command, environment, port, limit=None):
    base = {**os.environ, "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", **environment}
    ranks = [subprocess.Popen(list(map(str, command)), env={**base, "RANK": str(r), "LOCAL_RANK": str(r)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) for r in range(RANKS)]
    try:
        outputs = [p.communicate(timeout=limit) for p in ranks]
    except subprocess.TimeoutExpired as error:
        for process in ranks:
            process.kill()
            process.communicate()
        raise TookTooLong() from error
    for process, (_, errors) in zip(ranks, outputs):
        if process.returncode:
            sys.exit(f"error: {command[0]} ended with {process.returncode}: {errors.strip()[-800:]}")
    return outputs[0][0]


def run_fsdp2(folder, mode, steps, reshard, layout, limit=None, backend="gloo"):
    import support
    dtype, checkpointing = MODES[mode][:2]
    settings = {"model": str(MODEL), "shares": str(folder / "shares.json"), "dtype": dtype, "checkpointing": checkpointing, "reshard": reshard,
                "layout": layout, "steps": steps, "lr": LR, "backend": backend}
    (folder / "settings.json").write_text(json.dumps(settings))
    out = start([sys.executable, HERE / "fsdp2_side.py", folder / "settings.json"], {"FX_PYTHON_MODULES": str(PYTHON_MODULES)}, support.free_port(), limit)
    return json.loads(out.splitlines()[-1])


def run_engine(folder, mode, steps):
    import support
    dtype, checkpointing, documents, _, length = MODES[mode]
    packing = documents == "packed"
    shares = json.loads((folder / "shares.json").read_text())
    spec = {"model": str(MODEL), "data": {"path": str(folder / "tokens.bin"), "format": "tokens", "max_seq_len": length, "packing": packing},
            "output": str(folder / "out"), "ranks": RANKS, "steps": steps, "max_tokens_per_rank": length if packing else length * len(shares[0]),
            "global_batch_size": RANKS if packing else sum(len(share) for share in shares),
            "optimizer": {"lr": LR, "betas": [0.9, 0.95], "weight_decay": 0.1, "schedule": "constant", "clip_grad": 1.0},
            "fsdp": {"param_dtype": dtype, "reduce_dtype": "fp32", "activation_checkpointing": "full" if checkpointing else "none"}}
    events = folder / "events.jsonl"
    events.unlink(missing_ok=True)
    (folder / "spec.json").write_text(json.dumps(spec))
    start([ENGINE, "train", folder / "spec.json"], {"FX_EVENTS": str(events)}, support.free_port())
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    packs = next(row["packs"] for row in rows if row["event"] == "start")
    if packs != spec["global_batch_size"]:
        sys.exit(f"error: the engine made {packs} packs instead of {spec['global_batch_size']}: a step would not see the same documents")
    rows = [row for row in rows if row["event"] == "step"]
    return {"seconds": [row["tokens"] / row["tokens_per_s"] for row in rows], "losses": [row["loss"] for row in rows],
            "peak_bytes": max(max(row["peak_bytes"]) for row in rows), "comm_ms": [row["comm_ms"] for row in rows]}


def gemm_peak():
    """GFLOP/s a rank while all ranks compute, in the dtype that this processor multiplies faster."""
    def rate(dtype):
        ranks = [subprocess.Popen([sys.executable, HERE / "gemm_peak.py", dtype], stdout=subprocess.PIPE, text=True) for _ in range(RANKS)]
        return min(float(p.communicate()[0]) for p in ranks)
    return max(rate("bf16"), rate("fp32"))


def flops_per_token(length):
    """torchtitan's formula: 6 a matrix parameter (the tied head counts), 6 * layers * heads * (qk + v size) * length for attention."""
    c = json.loads((MODEL / "config.json").read_text())
    hidden, layers, heads, kv = c["hidden_size"], c["num_hidden_layers"], c["num_attention_heads"], c["num_key_value_heads"]
    size = hidden // heads
    block = hidden * size * (2 * heads + 2 * kv) + 3 * hidden * c["intermediate_size"]
    return 6 * (layers * block + hidden * c["vocab_size"]) + 6 * layers * heads * 2 * size * length


def play(total, run, *arguments, **options):
    """One turn of a side. Keeps the measured steps: the first warms up. The CPU time is that of all ranks, start-up and warm-up included."""
    before = cpu_seconds()
    turn = run(*arguments, **options)
    total.setdefault("cpu_seconds", []).append(cpu_seconds() - before)
    total.setdefault("seconds", []).extend(turn["seconds"][1:])
    total["losses"] = turn["losses"]
    total["peak_bytes"] = max(total.get("peak_bytes", 0), turn["peak_bytes"])
    if "comm_ms" in turn:
        total.setdefault("comm_ms", []).extend(turn["comm_ms"][1:])


def fastest_setting(folder, mode):
    """(reshard, layout) of FSDP2's fastest setting, and the seconds of one step in each. First the layout, then whether to reshard; who
    takes twice as long as another is stopped."""
    trials, limit = {}, None

    def attempt(reshard, layout):
        nonlocal limit
        began = time.perf_counter()
        try:
            trials[reshard, layout] = run_fsdp2(folder, mode, 1, reshard, layout, limit)["seconds"][0]
            limit = min(limit or math.inf, 2 * (time.perf_counter() - began))
        except TookTooLong:
            trials[reshard, layout] = math.inf
        print(f"  {mode} trial: FSDP2 ({setting_name(reshard, layout)}) {trials[reshard, layout]:.2f} s", flush=True)

    for layout in MODES[mode][3]:
        attempt(False, layout)
    attempt(True, min(trials, key=trials.get)[1])
    return min(trials, key=trials.get), {setting_name(*setting): seconds for setting, seconds in trials.items() if seconds < math.inf}


def setting_name(reshard, layout):
    return f"{'resharded' if reshard else 'kept'}, {layout}"


def measure(folder, mode, alternations, steps, third):
    shares = json.loads((folder / "shares.json").read_text())
    tokens = sum(len(d) for share in shares for d in share)
    best, trials = fastest_setting(folder, mode)
    engine, theirs, on_shm, peaks, loads = {}, {}, {}, [], [os.getloadavg()[0]]
    for turn in range(alternations):
        peaks.append(gemm_peak())
        play(engine, run_engine, folder, mode, steps + 1)
        play(theirs, run_fsdp2, folder, mode, steps + 1, *best)
        if third:
            play(on_shm, run_fsdp2, folder, mode, steps + 1, *best, backend="shm")
        loads.append(os.getloadavg()[0])
        also = f", on shared memory {on_shm['seconds'][-1]:.2f}" if third else ""
        print(f"  {mode} turn {turn + 1}: engine {engine['seconds'][-1]:.2f} s a step, FSDP2 {theirs['seconds'][-1]:.2f}{also}", flush=True)
    for side in (engine, theirs, on_shm):
        if side:
            side["tokens_per_s"] = tokens / statistics.median(side["seconds"])
    # Attention in a document of n tokens costs as in a sequence of that length: the mean over tokens.
    length = sum(len(d)**2 for share in shares for d in share) / tokens
    peak = statistics.median(peaks)
    extra = {}
    if third:
        extra["fsdp2_on_shm"] = {"transport_ratio": on_shm["tokens_per_s"] / theirs["tokens_per_s"],
                                 "compute_ratio": engine["tokens_per_s"] / on_shm["tokens_per_s"], **on_shm}
    return {"tokens_per_s_ratio": engine["tokens_per_s"] / theirs["tokens_per_s"], "rss_ratio": engine["peak_bytes"] / theirs["peak_bytes"],
            "max_loss_rel_diff": max(abs(a - b) / abs(b) for a, b in zip(engine["losses"], theirs["losses"])),
            "gemm_peak_fraction": engine["tokens_per_s"] / RANKS * flops_per_token(length) / (peak * 1e9), "gemm_peak_gflops_a_rank": peaks,
            "tokens_a_step": tokens, "load_average": loads, "engine": engine,
            "fsdp2": {"setting": setting_name(*best), "trial_seconds": trials, **theirs}, **extra}


def table(result):
    rows = ["| mode | engine tokens/s | FSDP2 tokens/s (best setting) | ratio | peak memory ratio | of the GEMM peak | largest loss difference | CPU s a turn, engine / FSDP2 | load average |",
            "|---|---|---|---|---|---|---|---|---|"]
    for mode in MODES:
        if mode in result:
            r = result[mode]
            theirs = r["fsdp2"]
            cpu = " / ".join(f"{statistics.median(side['cpu_seconds']):.0f}" for side in (r["engine"], theirs))
            rows.append(f"| {mode} | {r['engine']['tokens_per_s']:.0f} | {theirs['tokens_per_s']:.0f} ({theirs['setting']}) | {r['tokens_per_s_ratio']:.2f} | "
                        f"{r['rss_ratio']:.2f} | {r['gemm_peak_fraction']:.2f} | {r['max_loss_rel_diff']:.1e} | {cpu} | "
                        f"{min(r['load_average']):.1f} to {max(r['load_average']):.1f} |")
    rows += third_column(result)
    rows += ["", "| mode, step | engine loss | FSDP2 loss |", "|---|---|---|"]
    for mode in (m for m in MODES if m in result):
        r = result[mode]
        for step, (a, b) in enumerate(zip(r["engine"]["losses"], r["fsdp2"]["losses"]), 1):
            rows.append(f"| {mode}, {step} | {a:.6f} | {b:.6f} |")
    return "\n".join(rows) + "\n"


def third_column(result):
    """How much of the lead is transport, where it was measured."""
    modes = [mode for mode in MODES if "fsdp2_on_shm" in result.get(mode, {})]
    if not modes:
        return []
    rows = ["", "| mode | FSDP2 tokens/s on Gloo | FSDP2 on our shared-memory backend | engine | gain by transport | gain by computation | its losses differ from Gloo's by |",
            "|---|---|---|---|---|---|---|"]
    for mode in modes:
        shm, theirs = result[mode]["fsdp2_on_shm"], result[mode]["fsdp2"]
        difference = max(abs(a - b) / abs(b) for a, b in zip(shm["losses"], theirs["losses"]))
        rows.append(f"| {mode} | {theirs['tokens_per_s']:.0f} | {shm['tokens_per_s']:.0f} | {result[mode]['engine']['tokens_per_s']:.0f} | "
                    f"{shm['transport_ratio']:.2f} | {shm['compute_ratio']:.2f} | {difference:.1e} |")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--alternations", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--third", action="store_true", help="FSDP2 on our shared-memory backend too")
    options = parser.parse_args()
    unknown = [m for m in options.modes.split(",") if m not in MODES]
    if unknown:
        parser.error(f"no mode {unknown[0]}; there are {', '.join(MODES)}")
    if options.third and not list(PYTHON_MODULES.glob("fsdp_shm*.so")):
        parser.error(f"there is no module fsdp_shm in {PYTHON_MODULES}: build it (ninja fsdp_shm; it needs python3-dev)")
    out = ROOT / "build/bench"
    out.mkdir(parents=True, exist_ok=True)
    conversations = workloads.text_tokens()
    file = out / "engine.json"
    result = json.loads(file.read_text()) if file.exists() else {}  # of the modes that this run leaves alone
    result |= {"ranks": RANKS, "cores": os.cpu_count()}
    for mode in options.modes.split(","):
        with tempfile.TemporaryDirectory(dir=out) as name:
            folder = pathlib.Path(name)
            shares = workloads.packed(conversations, 4064) if MODES[mode][2] == "packed" else workloads.fixed_length(conversations, 512, 2)
            workloads.write(folder, shares)
            result[mode] = measure(folder, mode, options.alternations, options.steps, options.third)
    file.write_text(json.dumps(result, indent=1) + "\n")
    (out / "engine.md").write_text(table(result))
    print(f"\n{RANKS} ranks with one thread each on {os.cpu_count()} cores\n")
    print(table(result))


if __name__ == "__main__":
    main()
