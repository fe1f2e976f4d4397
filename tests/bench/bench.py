#!/usr/bin/env python3
"""Measures the server (start, memory, latency, binary sizes) and the engine (step time, memory). Prints a table, writes build/bench/bench.json."""
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build/bin"
sys.path.insert(0, str(ROOT / "scripts/demo"))
from clients import Server, Stdio  # noqa: E402

CONFIG = (ROOT / "scripts/demo/accelerate_two_mistakes.yaml").read_text()
LOG = "\n".join(f"[rank{r}]: step {s} loss 2.{s % 10}" for s in range(200) for r in range(2)) + "\nOSError: [Errno 28] No space left on device\n"
MODEL = dict(model_type="llama", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8, intermediate_size=14336, vocab_size=128256)
CALLS = {
    "validate_config": dict(text=CONFIG),
    "diagnose_failure": dict(log=LOG),
    "plan_finetune": dict(model=MODEL, hardware=dict(gpu="H100-80GB-SXM", gpus_per_node=8, nodes=1), training=dict(method="full", seq_len=4096, micro_batch=1)),
    "search_knowledge": dict(query="CUDA out of memory with FSDP"),
}


def median_ms(action, count: int) -> float:
    times = []
    for _ in range(count):
        began = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def measure_server(work: pathlib.Path) -> dict:
    def start_to_first_answer():
        server = Server(BIN / "fsdp-expert", work / "data", work / "server.log")
        urllib.request.urlopen(server.url + "/healthz", timeout=5).read()
        return server

    began = time.perf_counter()
    first = start_to_first_answer()
    out = {"first_start_ms": 1000 * (time.perf_counter() - began)}
    first.close()
    starts = []
    for _ in range(7):
        began = time.perf_counter()
        server = start_to_first_answer()
        starts.append(1000 * (time.perf_counter() - began))
        if len(starts) < 7:
            server.close()
    out["start_to_first_answer_ms"] = statistics.median(starts)
    out["resident_idle_mib"] = resident_mib(server.process.pid)
    for tool, arguments in CALLS.items():
        server.call(tool, **arguments)
        out[f"{tool}_ms"] = median_ms(lambda: server.call(tool, **arguments), 50)
    out["resident_after_mib"] = resident_mib(server.process.pid)
    server.close()
    began = time.perf_counter()
    agent = Stdio(BIN / "fsdp-expert", work / "data", work / "stdio.log")
    agent.request("tools/list")
    out["stdio_first_list_ms"] = 1000 * (time.perf_counter() - began)
    agent.close()
    out["binary_mib"] = {name: (BIN / name).stat().st_size / 2**20 for name in ("fsdp-expert", "fsdp-engine")}
    return out


def resident_mib(pid: int) -> float:
    return next(int(line.split()[1]) / 1024 for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS"))


def measure_engine(work: pathlib.Path, dtype: str) -> dict:
    """Five steps of SmolLM2-135M on two ranks, 1,024 tokens a rank, packed documents of our own questions."""
    model, data = ROOT / "build/models/SmolLM2-135M-Instruct", work / "data.tok"
    if not data.exists():
        run([sys.executable, ROOT / "scripts/make_dataset.py", "--output", work / "data.jsonl"])
        run([sys.executable, ROOT / "engine/data/tokenize.py", "--model", model, "--data", work / "data.jsonl", "--format", "messages",
             "--max-seq-len", 1024, "--output", data])
    spec = dict(model=str(model), data=dict(path=str(data), format="tokens", max_seq_len=1024), output=str(work / f"out-{dtype}"), ranks=2, steps=6,
                global_batch_size=2, fsdp=dict(param_dtype=dtype, reduce_dtype="fp32"))
    (work / "spec.json").write_text(json.dumps(spec))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    events = work / f"events-{dtype}.jsonl"
    ranks = [subprocess.Popen([BIN / "fsdp-engine", "train", work / "spec.json"], stdout=subprocess.DEVNULL,
                              env={**os.environ, "RANK": str(r), "WORLD_SIZE": "2", "LOCAL_RANK": str(r), "MASTER_ADDR": "127.0.0.1",
                                   "MASTER_PORT": str(port), "FX_EVENTS": str(events)}) for r in range(2)]
    if any(p.wait() for p in ranks):
        sys.exit("error: the engine benchmark failed: see its messages above")
    steps = [e for e in map(json.loads, open(events)) if e["event"] == "step"][1:]
    return {"step_s": statistics.median(e["tokens"] / e["tokens_per_s"] for e in steps), "tokens_per_s": statistics.median(e["tokens_per_s"] for e in steps),
            "comm_ms": statistics.median(e["comm_ms"] for e in steps), "peak_gib_a_rank": max(max(e["peak_bytes"]) for e in steps) / 2**30}


def run(command) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {(done.stderr or done.stdout).strip().splitlines()[-1]}")


def main() -> None:
    out = ROOT / "build/bench"
    out.mkdir(parents=True, exist_ok=True)
    result = {"load_average": os.getloadavg(), "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory(dir=out) as folder:
        work = pathlib.Path(folder)
        result["server"] = measure_server(work)
        for dtype in ("bf16", "fp32"):
            result[f"engine_{dtype}"] = measure_engine(work, dtype)
    (out / "bench.json").write_text(json.dumps(result, indent=2) + "\n")
    print(f"load average {result['load_average'][0]:.2f} on {result['cores']} cores")
    for part in ("server", "engine_bf16", "engine_fp32"):
        for name, value in result[part].items():
            text = ", ".join(f"{k} {v:.1f}" for k, v in value.items()) if isinstance(value, dict) else f"{value:.2f}"
            print(f"{part:12} {name:28} {text}")


if __name__ == "__main__":
    main()
