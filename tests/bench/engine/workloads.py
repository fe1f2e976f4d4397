"""What both sides of the engine benchmark train on: token files of real text, made from the project's own knowledge base."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODEL = ROOT / "build/models/SmolLM2-135M-Instruct"
RANKS = 2
sys.path.insert(0, str(ROOT / "tests/parity"))


def text_tokens():
    """The token ids of every conversation, one list each."""
    from transformers import AutoTokenizer

    out = ROOT / "build/bench/questions.jsonl"
    subprocess.run([sys.executable, ROOT / "scripts/make_dataset.py", "--output", out], check=True, stdout=subprocess.DEVNULL)
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    rows = [json.loads(line)["messages"] for line in out.read_text(encoding="utf-8").splitlines()]
    return [tokenizer.encode("\n".join(m["content"] for m in row)) for row in rows]


def fixed_length(conversations, length, per_rank):
    """[rank][document]: documents of exactly `length` tokens, cut from the running text."""
    stream = [token for ids in conversations for token in ids]
    return [[stream[(r * per_rank + i) * length:][:length] for i in range(per_rank)] for r in range(RANKS)]


def packed(conversations, budget):
    """[rank][document]: whole conversations up to exactly `budget` tokens a rank; the last one of each rank may be cut."""
    shares, source = [], iter(conversations)
    for _ in range(RANKS):
        share, left = [], budget
        while left > 0:
            ids = next(source)[:left]
            share.append(ids)
            left -= len(ids)
        shares.append(share)
    return shares


def write(folder: pathlib.Path, shares):
    """The engine's token file and the same documents by rank, as JSON, for the other side."""
    import support

    documents = [(ids, ids[1:] + [support.IGNORED]) for share in shares for ids in share]
    vocab = json.loads((MODEL / "config.json").read_text())["vocab_size"]
    support.write_token_file(folder / "tokens.bin", vocab, documents)
    (folder / "shares.json").write_text(json.dumps(shares))
