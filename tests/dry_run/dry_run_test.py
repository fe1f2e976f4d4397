"""fsdp-engine dry-run from outside: a 70B config on 1,024 ranks in seconds, and clear errors."""
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

ENGINE = os.environ.get("FX_ENGINE_BINARY", "fsdp-engine")
# Published sizes of a 70B Llama 3; nothing but config.json is needed.
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
          "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 128256, "tie_word_embeddings": False, "rope_theta": 500000.0,
          "rms_norm_eps": 1e-5, "hidden_act": "silu", "max_position_embeddings": 8192, "torch_dtype": "bfloat16"}
BLOCK = 8192 * 8192 * 2 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192
REST = 2 * 128256 * 8192 + 8192
PARAMETERS = 80 * BLOCK + REST


class DryRun(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "model").mkdir()
        self.write("model/config.json", CONFIG)

    def write(self, name, value):
        (self.folder / name).write_text(value if isinstance(value, str) else json.dumps(value))

    def spec(self, **changes):
        return {"model": str(self.folder / "model"), "data": {"path": "none.tok", "format": "tokens", "max_seq_len": 8192}, "output": "out",
                "steps": 1, "ranks": 8, "fsdp": {"activation_checkpointing": "full"}, **changes}

    def call(self, spec, *arguments):
        self.write("spec.json", spec)
        return subprocess.run([ENGINE, "dry-run", str(self.folder / "spec.json"), *arguments], capture_output=True, text=True, timeout=60)

    def play(self, spec, *arguments):
        done = self.call(spec, *arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_70b_model_on_1024_ranks_takes_seconds_and_meets_the_formulas(self):
        began = time.time()
        run = self.play(self.spec(), "--ranks", "1024")
        self.assertLess(time.time() - began, 20)
        self.assertEqual((run["ranks"], run["parameters"]), (1024, PARAMETERS))
        # 80 blocks, the embedding and the head: gathered in the forward, the blocks again in the backward, all reduced once.
        self.assertEqual(run["calls"], 82 + 80 + 82)
        sent = (PARAMETERS * 2 + 80 * BLOCK * 2 + PARAMETERS * 4) * 1023 // 1024
        self.assertAlmostEqual(run["bytes_sent"] / sent, 1, delta=1e-3)  # the vocabulary does not divide by 1,024: a little padding
        memory = run["memory"]
        for name, bytes_each in (("master_bytes", 4), ("optimizer_bytes", 8), ("gradient_bytes", 4)):
            self.assertAlmostEqual(memory[name] / (PARAMETERS * bytes_each / 1024), 1, delta=1e-3)
        self.assertEqual(memory["peak_bytes"], max(p["peak_bytes"] for p in memory["phases"]))
        self.assertEqual([p["phase"] for p in memory["phases"]], ["start", "forward", "head and loss", "backward", "optimizer"])
        # The inputs of 80 blocks of 8,192 tokens in bf16, at least.
        self.assertGreater(memory["peak_bytes"], 80 * 8192 * 8192 * 2)
        self.assertLess(memory["peak_bytes"], 48 << 30)

    def test_copies_and_slices(self):
        run = self.play(self.spec(fsdp={"replicate": 16, "reshard_after_forward": 8}), "--ranks", "1024")
        groups = {(c["phase"], c["operation"]): (c["group"], c["ranks"], c["calls"]) for c in run["collectives"]}
        self.assertEqual(groups["forward", "all_gather"], ("shard", 64, 82))
        self.assertEqual(groups["backward", "all_gather"], ("slice", 8, 80))
        self.assertEqual(groups["backward", "all_reduce"], ("replicate", 16, 82))

    def test_adapters_of_a_70b_model(self):
        lora = {"rank": 64, "target_modules": ["q_proj", "v_proj"], "dropout": 0.05}
        run = self.play(self.spec(lora=lora), "--ranks", "64")
        adapters = 80 * 64 * (2 * 8192 + 8192 + 1024)
        self.assertEqual((run["parameters"], run["trained_parameters"]), (PARAMETERS + adapters, adapters))
        # The base is gathered as ever and never reduced; all adapters are one group.
        self.assertEqual(run["calls"], 82 + 80 + 2)
        sent = ((PARAMETERS + 80 * BLOCK + adapters) * 2 + adapters * 4) * 63 // 64
        self.assertAlmostEqual(run["bytes_sent"] / sent, 1, delta=1e-3)
        memory = run["memory"]
        for name, expected in (("master_bytes", PARAMETERS * 2 + adapters * 4), ("optimizer_bytes", adapters * 8), ("gradient_bytes", adapters * 4)):
            self.assertAlmostEqual(memory[name] / (expected / 64), 1, delta=1e-3)
        self.assertIn(f"({adapters} trained)", self.call(self.spec(lora=lora), "--ranks", "64").stdout)

    def test_people_get_tables(self):
        done = self.call(self.spec(), "--ranks", "64")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("70553706496 parameters on 64 ranks", "reduce_scatter", "head and loss", "optimizer state"):
            self.assertIn(words, done.stdout)

    def refused(self, words, spec, *arguments):
        done = self.call(spec, *arguments)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn(words, done.stderr)
        self.assertNotIn("terminate", done.stderr)

    def test_mistakes_are_named_by_field(self):
        self.refused("ranks", self.spec(), "--ranks", "0")
        self.refused("--ranks", self.spec(), "--ranks", "many")
        self.refused("--ranks", self.spec(), "--ranks")
        self.refused("--fast", self.spec(), "--fast")
        self.refused("fsdp.shard", self.spec(fsdp={"shard": 8}), "--ranks", "12")
        self.refused("fsdp.reshard_after_forward", self.spec(fsdp={"reshard_after_forward": 5}), "--ranks", "8")
        self.refused("data.max_seq_len", self.spec(data={"path": "x", "max_seq_len": 1}))
        self.refused("no such model folder", self.spec(model=str(self.folder / "nowhere")))
        self.refused("fsdp.cpu_offload", self.spec(fsdp={"cpu_offload": True}))
        self.refused("line 1", "{")
        for text, words in (("[]", "config.json"), ("{", "config.json"), ({**CONFIG, "hidden_size": -1}, "hidden_size"),
                            ({**CONFIG, "architectures": ["BertModel"]}, "BertModel"), ({**CONFIG, "num_key_value_heads": 7}, "num_key_value_heads")):
            self.write("model/config.json", text)
            self.refused(words, self.spec())
        (self.folder / "model/config.json").unlink()
        self.refused("config.json", self.spec())


if __name__ == "__main__":
    unittest.main()
