#!/usr/bin/env python3
"""Random mutations of plan_finetune's arguments: each gives a plan of finite numbers or an error at a field.

  mutate_arguments.py BIN [--count 20000] [--seed 1] [--slow 0.5]

One server process (BIN stdio) answers all of them, so a crash or a hang is seen too. Prints what went wrong, one line each, and exits 1.
"""
import argparse, copy, json, math, random, select, subprocess, sys, time

LLAMA = dict(model_type="llama", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
             intermediate_size=14336, vocab_size=128256, max_position_embeddings=8192, tie_word_embeddings=False)
MOE = dict(model_type="qwen3_moe", hidden_size=2048, num_hidden_layers=48, num_attention_heads=32, num_key_value_heads=4, head_dim=128,
           moe_intermediate_size=768, num_experts=128, num_experts_per_tok=8, vocab_size=151936, decoder_sparse_step=1)
GPT2 = dict(model_type="gpt2", n_embd=1600, n_layer=48, n_head=25, n_positions=1024, vocab_size=50257)
MLA = dict(model_type="deepseek_v3", hidden_size=7168, num_hidden_layers=61, num_attention_heads=128, q_lora_rank=1536, kv_lora_rank=512,
           qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, n_routed_experts=256, n_shared_experts=1, num_experts_per_tok=8,
           moe_intermediate_size=2048, intermediate_size=18432, first_k_dense_replace=3, vocab_size=129280)
HARDWARE = [dict(gpu="H100-80GB-SXM", gpus_per_node=8), dict(gpu="A100-40GB", gpus_per_node=8, nodes=4, interconnect_gb_s=50),
            dict(gpu="cpu", gpus_per_node=2, cpu_cores=2, host_memory_gib=32), dict(gpu="RTX 4090", gpus_per_node=2),
            dict(gpu="X9", gpus_per_node=8, gpu_memory_gib=64, gpu_tflops=400, gpu_bandwidth_gb_s=3000)]
TRAINING = [dict(method="full", seq_len=4096), dict(method="lora", lora_rank=16, lora_targets=["q", "v"], seq_len=2048, micro_batch=2),
            dict(method="qlora", base_quant="nf4", seq_len=8192, activation_checkpointing="full"), {},
            dict(sharding="hsdp", shard_size=8, seq_len=4096, micro_batch=1, grad_accum=4, reshard_after_forward=False),
            dict(tp=2, sequence_parallel=False, cp=2, ep=1, pp=1, sharding="fsdp2", loss_impl="liger", compile=True, fp8=True, optimizer="adamw-8bit", global_batch_size=512),
            dict(param_dtype="fp16", amp=True, master_dtype="fp32", reduce_dtype="fp32", cpu_offload=True, modules_to_save=["lm_head"]),
            dict(method="lora", attention="eager", use_cache=True, seq_len=1024, micro_batch=4, activation_checkpointing="full")]
NUMBERS = [0, 1, -1, 2, 3, 5, 7, 0.5, -0.0, 1e-300, 1e-9, 1e6, 1e9, 1e12, 1e18, 9.3e18, 1e300, -1e300, 2**31, 2**53, 2**63, 2**64, 17, 4095, 4097]
OTHERS = [None, True, False, "", " ", "nan", "NaN", "inf", "-inf", "1e5", "8", "0x10", "none", "full", "x" * 5000, "\u0000", "\ud83d\ude00", [], {}, [1],
          [None], [[]], {"a": 1}, ["q"] * 500, "H100", "TPU-v5", "a100", "80GB", "cpu", "CPU", "../../etc/passwd", "%s%n", "hf_" + "a" * 34]


def leaves(json_value, path=()):
    if isinstance(json_value, dict):
        for key, value in json_value.items():
            yield path + (key,)
            yield from leaves(value, path + (key,))


def put(root, path, value):
    for key in path[:-1]:
        root = root[key] if isinstance(root, dict) and isinstance(root.get(key), dict) else {}
    if isinstance(root, dict):
        root[path[-1]] = value


def drop(root, path):
    for key in path[:-1]:
        root = root.get(key, {}) if isinstance(root, dict) else {}
    if isinstance(root, dict):
        root.pop(path[-1], None)


def mutated(dice):
    arguments = dict(model=dice.choice([LLAMA, LLAMA, MOE, GPT2, MLA, dict(params_b=8), dict(text_config=LLAMA)]), hardware=dice.choice(HARDWARE),
                     training=dice.choice(TRAINING), data=dice.choice([dict(tokens=1e9), dict(tokens=1e9, example_tokens=300)]), price_per_gpu_hour=2.5,
                     files=["accelerate", "torchtitan", "torchrun", "sbatch", "run_spec"], answers=dice.random() < 0.2)
    arguments = copy.deepcopy(arguments)
    for _ in range(dice.choice([1, 1, 1, 2, 3, 4])):
        path = dice.choice(list(leaves(arguments)) or [("model",)])
        kind = dice.random()
        if kind < 0.15:
            drop(arguments, path)
        elif kind < 0.6:
            put(arguments, path, dice.choice(NUMBERS))
        elif kind < 0.7:
            put(arguments, path, dice.randint(-10, 300))
        elif kind < 0.75:
            put(arguments, path + (dice.choice(["hidden_size", "extra", "gpu"]),), dice.choice(OTHERS))
        else:
            put(arguments, path, dice.choice(OTHERS))
    return arguments


def bad_numbers(value, path=""):
    if isinstance(value, dict):
        return [x for k, v in value.items() for x in bad_numbers(v, f"{path}.{k}")]
    if isinstance(value, list):
        return [x for i, v in enumerate(value) for x in bad_numbers(v, f"{path}[{i}]")]
    ok = not isinstance(value, (int, float)) or isinstance(value, bool) or (math.isfinite(value) and value >= 0)
    return [] if ok else [f"{path} = {value}"]


def complaint(answer):
    """What is wrong with an answer; empty when nothing is."""
    plan = json.loads(answer["content"][0]["text"])
    if answer.get("isError"):
        error = plan["error"]
        fields = [error.get("field", "")] + [d.get("field", "") for d in error.get("details", [])]
        return "" if any(fields) else f"an error without a field: {error}"
    if not plan.get("applicable"):
        return ""
    wrong = bad_numbers({k: v for k, v in plan.items() if k not in ("files", "answers")})
    memory = plan["memory_gib"]
    if not memory["low"] <= memory["allocated"] <= memory["high"]:
        wrong.append(f"range {memory['low']} {memory['allocated']} {memory['high']}")
    low, high = plan["tokens_per_s_per_gpu_range"]
    if not low <= plan["tokens_per_s_per_gpu"] <= high:
        wrong.append(f"range {low} {plan['tokens_per_s_per_gpu']} {high}")
    for text in plan["reasons"] + plan["steps"] + plan["assumptions"] + plan["limits"]:
        if "nan" in text.split() or "inf" in text.split() or "-nan" in text:
            wrong.append(text)
    return "; ".join(wrong)


class Server:
    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.number = 0
        self.ask("initialize", dict(protocolVersion="2025-06-18", capabilities={}, clientInfo=dict(name="mutate", version="1")))

    def ask(self, method, params):
        self.number += 1
        self.process.stdin.write(json.dumps(dict(jsonrpc="2.0", id=self.number, method=method, params=params)) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], 20)[0]:
            raise RuntimeError("no answer in 20 s")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended: {self.process.wait()}")
        reply = json.loads(line)
        return reply.get("result", reply)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("bin")
    a.add_argument("--count", type=int, default=20000)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--slow", type=float, default=0.5)
    o = a.parse_args()
    dice, server, wrong, plans, slowest = random.Random(o.seed), Server(o.bin), 0, 0, 0.0
    for _ in range(o.count):
        arguments, began = mutated(dice), time.monotonic()
        try:
            answer = server.ask("tools/call", dict(name="plan_finetune", arguments=arguments))
            text = complaint(answer)
            plans += not answer.get("isError")
        except (RuntimeError, KeyError, ValueError, TypeError) as failure:
            text = f"{type(failure).__name__}: {failure}"
            server = Server(o.bin)
        took = time.monotonic() - began
        slowest = max(slowest, took)
        if took > o.slow:
            text += f" took {took:.2f} s"
        if text:
            wrong += 1
            print(text[:300], json.dumps(arguments)[:1500], sep="\n   ")
    print(f"{o.count} mutations: {plans} plans, {o.count - plans} errors, slowest {slowest:.3f} s, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
