#!/usr/bin/env python3
"""The main job, end to end: an agent asks, validates, plans, trains a real model on two ranks, reviews, and gets a broken run diagnosed."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from clients import Server, Stdio, ToolError
from screen import Progress, duration, heading, show, side_by_side

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE, BUILD = ROOT / "scripts/demo", ROOT / "build"
WORK, MODEL = BUILD / "demo", BUILD / "models/SmolLM2-135M-Instruct"
BINARY = BUILD / "bin/fsdp-expert"
STEPS, RANKS, TOKENS = 24, 2, 512
QUESTIONS = ["What does FSDP2's reshard_after_forward do?", "My FSDP run hangs at the start. What should I check first?"]


def prepare() -> None:
    """The model folder and the chat-format data set; both are kept for the next run."""
    run_python(ROOT / "scripts/get_model.py")
    run_python(ROOT / "scripts/make_dataset.py", "--output", WORK / "questions.jsonl")
    rows = sum(1 for _ in open(WORK / "questions.jsonl", encoding="utf-8"))
    show(f"model {MODEL.relative_to(ROOT)}; data set of {rows} conversations made from our own knowledge base")


def run_python(script: pathlib.Path, *arguments) -> str:
    done = subprocess.run([sys.executable, script, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise ToolError((done.stderr or done.stdout).strip().splitlines()[-1] if (done.stderr or done.stdout).strip() else f"{script.name} failed")
    return done.stdout


def search(agent) -> None:
    heading("a", "search_knowledge: \"CUDA out of memory with FSDP, what can I turn on?\"")
    for fact in agent.call("search_knowledge", query="CUDA out of memory with FSDP, what can I turn on?", limit=3)["facts"]:
        source = fact["source"]
        show(f"{fact['title']}: {fact['text'][:230]}  [{source if isinstance(source, str) else source.get('repo') or source.get('doc')}]")


def validate(agent) -> None:
    heading("b", "validate_config: an accelerate FSDP file with two mistakes, then the corrected one")
    for name in ("accelerate_two_mistakes.yaml", "accelerate_corrected.yaml"):
        answer = agent.call("validate_config", text=(HERE / name).read_text(), filename=name)
        findings = [f for f in answer["findings"] if f["severity"] != "info"]
        show(f"{name} ({answer['format']}): {len(findings)} problem(s)")
        for f in findings:
            show(f"line {f['line']}: {f['severity']}: {f['message']} [{f['rule']}]", 6)
            show(f"fix: {f['fix']}", 8)


def plan(agent) -> dict:
    heading("c", f"plan_finetune: SmolLM2-135M on this machine's {RANKS} ranks")
    config = json.loads((MODEL / "config.json").read_text())
    answer = agent.call("plan_finetune", model=config, hardware={"gpu": "CPU", "gpus_per_node": RANKS, "nodes": 1},
                        training={"method": "full", "seq_len": TOKENS, "micro_batch": 1, "sharding": "fsdp2", "param_dtype": "bf16",
                                  "reduce_dtype": "fp32", "activation_checkpointing": "none"}, data={"tokens": STEPS * RANKS * TOKENS})
    memory = answer["memory_gib"]
    show(f"strategy {answer['strategy']}, fits: {answer['fits']}; {memory['allocated']:.2f} GiB a rank (range {memory['low']:.2f}-{memory['high']:.2f}), "
         f"{answer['tokens_per_s_per_gpu']:.0f} tokens/s a rank, bound by {answer['bound_by']}")
    return answer


def spec(name: str, steps: int) -> dict:
    return {"model": str(MODEL), "data": {"path": str(WORK / "questions.jsonl"), "format": "messages", "max_seq_len": TOKENS, "packing": True},
            "output": str(WORK / name), "ranks": RANKS, "steps": steps, "max_tokens_per_rank": TOKENS, "global_batch_size": RANKS,
            "optimizer": {"lr": 2e-4, "schedule": "cosine", "warmup_steps": 3, "weight_decay": 0.01, "clip_grad": 1.0},
            "fsdp": {"shard": RANKS, "reshard_after_forward": True, "param_dtype": "bf16", "reduce_dtype": "fp32"}, "seed": 7}


def follow(server, run_id: str, total: int, until=lambda status: False) -> dict:
    progress = Progress()
    while True:
        status = server.call("run_status", run_id=run_id, wait_s=1)
        progress.update(status, total)
        if status["state"] in ("succeeded", "failed", "stopped") or until(status):
            progress.close()
            return status


def train(server) -> str:
    heading("d", f"launch_run: full-shard fine-tune on {RANKS} ranks, bf16 compute, fp32 reduce, packed, {STEPS} steps")
    shutil.rmtree(WORK / "tuned", ignore_errors=True)
    began = time.time()
    answer = server.call("launch_run", **spec("tuned", STEPS))
    show(f"{answer['run_id']} is {answer['state']} after {time.time() - began:.2f} s")
    status = follow(server, answer["run_id"], STEPS)
    if status["state"] != "succeeded":
        raise ToolError(f"the run is {status['state']}: {status.get('reason', '')}; logs in {WORK / 'data/runs' / answer['run_id']}")
    return answer["run_id"]


def review(agent, run_id: str) -> dict:
    heading("e", "review_run: did it learn, and was the plan right?")
    answer = agent.call("review_run", run_id=run_id)
    show(f"verdict: {answer['verdict']}")
    for finding in answer["findings"]:
        show(f"{finding.get('severity', 'info')}: {finding['message']}", 6)
    for what, row in answer["planned_vs_measured"].items():
        if isinstance(row, dict):
            show(f"{what}: planned {row['planned']:.4g}, measured {row['measured']:.4g}", 6)
    return answer


def generate(folder: pathlib.Path) -> list:
    questions = WORK / "ask.json"
    questions.write_text(json.dumps(QUESTIONS))
    return json.loads(run_python(HERE / "generate.py", folder, questions).splitlines()[-1])


def compare(before: list) -> None:
    heading("f", "the saved folder, loaded by transformers: before and after")
    after = generate(WORK / "tuned")
    for question, old, new in zip(QUESTIONS, before, after):
        show(f"Q: {question}")
        side_by_side("before", old, "after", new)


def kill_a_rank(server, agent) -> None:
    victim = RANKS - 1
    heading("g", f"a second run in which rank {victim} is killed (SIGKILL) mid-step")
    shutil.rmtree(WORK / "broken", ignore_errors=True)
    run_id = server.call("launch_run", **spec("broken", STEPS))["run_id"]
    status = follow(server, run_id, STEPS, until=lambda s: (s.get("step") or 0) >= 2)
    pid = next((r["pid"] for r in status.get("ranks", []) if r["rank"] == victim), None)
    if not pid:
        raise ToolError(f"no process id of rank {victim} in run_status (state {status['state']})")
    os.kill(pid, signal.SIGKILL)
    began = time.time()
    status = follow(server, run_id, STEPS)
    show(f"killed process {pid}; the run was {status['state']} {time.time() - began:.1f} s later")
    folder = WORK / "data/runs" / run_id
    logs = [{"name": p.name, "text": p.read_text(errors="replace")} for p in sorted(folder.glob("*.log"))]
    answer = agent.call("diagnose_failure", logs=logs)
    if status["state"] != "failed" or not answer["causes"]:
        raise ToolError(f"expected a failed run with a cause, got {status['state']} and {answer['verdict']}")
    cause = answer["causes"][0]
    show(f"diagnose_failure: {cause['id']}, root rank {cause['root_rank']}, confidence {cause['confidence']:.2f}")
    for line in cause["evidence"][:4]:
        show(f"{line.get('log', '')}:{line['line']}: {line['text']}", 6)
    show(f"first step: {cause['first_step']}", 6)
    if cause["root_rank"] != victim:
        raise ToolError(f"the diagnosis names rank {cause['root_rank']}, but rank {victim} was killed")


def summary(server, review_answer: dict, began: float) -> None:
    curves = review_answer.get("curves", {})
    losses = curves.get("loss") or []
    rss = next((int(line.split()[1]) / 1024 for line in open(f"/proc/{server.process.pid}/status") if line.startswith("VmRSS")), 0)
    sizes = ", ".join(f"{p.name} {p.stat().st_size / 2**20:.1f} MiB" for p in (BINARY, BUILD / "bin/fsdp-engine"))
    first_last = [x["value"] if isinstance(x, dict) else x[-1] if isinstance(x, list) else x for x in (losses[0], losses[-1])] if losses else ["?", "?"]
    print(f"\nDemo finished in {duration(time.time() - began)}: loss {first_last[0]} -> {first_last[1]}; server resident {rss:.1f} MiB; {sizes}.")
    print(f"Fine-tuned model: {WORK / 'tuned'}  ·  runs and logs: {WORK / 'data/runs'}")


def main() -> int:
    began = time.time()
    WORK.mkdir(parents=True, exist_ok=True)
    server = agent = None
    try:
        print("fsdp-expert demo: an agent uses the server over HTTP and MCP; nothing here is simulated.")
        prepare()
        start = time.time()
        server = Server(BINARY, WORK / "data", WORK / "server.log")
        agent = Stdio(BINARY, WORK / "data", WORK / "stdio.log")
        show(f"server at {server.url}, MCP over stdio as {agent.server['name']} {agent.server['version']}; both up after {1000 * (time.time() - start):.0f} ms")
        search(server)
        validate(agent)
        plan(server)
        before = generate(MODEL)
        run_id = train(server)
        answer = review(agent, run_id)
        compare(before)
        kill_a_rank(server, agent)
        summary(server, answer, began)
        return 0
    except (ToolError, OSError, KeyError) as error:
        print(f"\nerror: the demo stopped: {error}", file=sys.stderr)
        return 1
    finally:
        for part in (agent, server):
            if part:
                part.close()


if __name__ == "__main__":
    sys.exit(main())
