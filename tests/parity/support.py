"""What the parity tests share: tiny models, token files, runs of fsdp-engine as separate rank processes, their events."""
import json
import os
import pathlib
import random
import socket
import struct
import subprocess
import sys

ENGINE = os.environ.get("FX_ENGINE_BINARY", "fsdp-engine")
ROOT = pathlib.Path(__file__).resolve().parents[2]
IGNORED = -100
MAX_SEQ_LEN = 32
# Best-fit packing makes exactly PACKS full packs of these, so that a step of PACKS packs sees every document once.
DOCUMENT_LENGTHS = [32, 25, 7, 22, 10, 20, 12, 18, 14, 16, 16]
PACKS = 6


def make_model(folder, tied, seed=0, hidden=48, layers=3):
    """A random Llama in the Hugging Face format. Sizes do not divide by 2 and 3 everywhere: shards are uneven."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(vocab_size=101, hidden_size=hidden, intermediate_size=70, num_hidden_layers=layers, num_attention_heads=4,
                         num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=tied, rms_norm_eps=1e-5,
                         initializer_range=0.2, bos_token_id=1, eos_token_id=2)
    LlamaForCausalLM(config).to(torch.float32).save_pretrained(folder)
    return config


def make_documents(vocab, lengths=tuple(DOCUMENT_LENGTHS), seed=1):
    """[(ids, labels)]; a label is what its position must predict, and the first few of each document are not trained on."""
    rng = random.Random(seed)
    documents = []
    for length in lengths:
        ids = [rng.randrange(vocab) for _ in range(length)]
        labels = [IGNORED if i < length // 4 else ids[i + 1] for i in range(length - 1)] + [IGNORED]
        documents.append((ids, labels))
    return documents


def write_token_file(path, vocab, documents):
    """The format that engine/data/token_file.h describes."""
    offsets = [0]
    for ids, _ in documents:
        offsets.append(offsets[-1] + len(ids))
    trained = sum(label != IGNORED for _, labels in documents for label in labels)
    with open(path, "wb") as out:
        out.write(struct.pack("<8sIIQQQIIIIQ", b"FXTOKENS", 1, vocab, len(documents), offsets[-1], trained, 0, 0, 0, 0, 0))
        out.write(struct.pack(f"<{len(offsets)}Q", *offsets))
        out.write(struct.pack(f"<{offsets[-1]}I", *[i for ids, _ in documents for i in ids]))
        out.write(struct.pack(f"<{offsets[-1]}i", *[i for _, labels in documents for i in labels]))


def make_spec(model, tokens, output, ranks, steps=10, **changes):
    spec = {"model": str(model), "data": {"path": str(tokens), "format": "tokens", "max_seq_len": MAX_SEQ_LEN}, "output": str(output),
            "ranks": ranks, "steps": steps, "max_tokens_per_rank": MAX_SEQ_LEN, "global_batch_size": PACKS,
            "optimizer": {"lr": 2e-3, "betas": [0.9, 0.95], "weight_decay": 0.1, "schedule": "constant", "clip_grad": 1.0},
            "fsdp": {"param_dtype": "fp32", "reduce_dtype": "fp32"}, "seed": 5}
    for key, value in changes.items():
        spec[key] = {**spec[key], **value} if isinstance(value, dict) and key in spec else value
    return spec


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_ranks(spec, folder, **environment):
    """One process a rank; rank N's output goes to rank_N.log."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text(json.dumps(spec))
    base = {**os.environ, "WORLD_SIZE": str(spec["ranks"]), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
            "FX_EVENTS": str(folder / "events.jsonl"), **{k: str(v) for k, v in environment.items()}}
    processes = []
    for rank in range(spec["ranks"]):
        with open(folder / f"rank_{rank}.log", "w", encoding="utf-8") as log:
            processes.append(subprocess.Popen([ENGINE, "train", str(folder / "spec.json")], stdout=log, stderr=log,
                                              env={**base, "RANK": str(rank), "LOCAL_RANK": str(rank)}))
    return processes


def wait_ranks(processes, timeout=120):
    try:
        return [p.wait(timeout) for p in processes]
    finally:
        for p in processes:
            if p.poll() is None:
                p.kill()
                p.wait()


def events(folder, kind=None):
    path = pathlib.Path(folder) / "events.jsonl"
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [r for r in rows if kind is None or kind_of(r) == kind]


def kind_of(row):
    return row["event"]


def logs(folder):
    return "\n".join(f"--- {p.name}\n{p.read_text(errors='replace')[-1500:]}" for p in sorted(pathlib.Path(folder).glob("rank_*.log")))


def run(spec, folder, **environment):
    """Runs to the end; the step events. Raises with the ranks' logs when a rank fails."""
    codes = wait_ranks(start_ranks(spec, folder, **environment))
    if any(codes):
        raise AssertionError(f"exit codes {codes}\n{logs(folder)}")
    return events(folder, "step")


def run_python_ranks(arguments, ranks):
    """Rank 0's last line, as JSON, of a script that is one rank."""
    base = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [subprocess.Popen([sys.executable, *map(str, arguments)], env={**base, "RANK": str(r)}, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) for r in range(ranks)]
    try:
        outputs = [p.communicate(timeout=200) for p in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outputs):
        if process.returncode:
            raise AssertionError(errors[-3000:])
    return json.loads(outputs[0][0].splitlines()[-1])


def assert_close(test, ours, theirs, relative, what):
    test.assertEqual(len(ours), len(theirs), what)
    for step, (a, b) in enumerate(zip(ours, theirs)):
        test.assertLessEqual(abs(a - b), relative * abs(b), f"{what} of step {step + 1}: {a} against {b}")
