"""Every model family: logits and gradients in fp32 equal those of transformers, and a saved folder loads back tensor by tensor."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file

import support

SIZES = {"vocab_size": 101, "hidden_size": 48, "intermediate_size": 70, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 128, "initializer_range": 0.2, "bos_token_id": 1, "eos_token_id": 2}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
# Name -> family, and what makes it differ from plain Llama.
FAMILIES = {
    "llama-3.1": ("Llama", {"rope_scaling": LLAMA3, "rope_theta": 500.0}),
    "llama-linear": ("Llama", {"rope_scaling": {"rope_type": "linear", "factor": 4.0}, "head_dim": 16}),
    "mistral": ("Mistral", {"sliding_window": 7}),
    "mistral-no-window": ("Mistral", {"sliding_window": None, "head_dim": 20}),
    "mistral-long-window": ("Mistral", {"sliding_window": 64}),
    "qwen2": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen2-window": ("Qwen2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 0}),
    "qwen3": ("Qwen3", {"head_dim": 20}),
    "qwen3-tied": ("Qwen3", {"head_dim": 16, "tie_word_embeddings": True}),
}
IDS = [i * 37 % 101 for i in range(90)]


def make_model(folder, family, changes, seed=3):
    torch.manual_seed(seed)
    config = getattr(transformers, family + "Config")(**{**SIZES, "tie_word_embeddings": False, **changes})
    model = getattr(transformers, family + "ForCausalLM")(config).to(torch.float32)
    for name, parameter in model.named_parameters():  # transformers begins with zero biases and norms of one
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, mean=0.0 if name.endswith("bias") else 1.0, std=0.3)
    model.save_pretrained(folder)
    return config


def engine_output(command, folder, work):
    tokens, out = work / "tokens.json", work / f"{command}.safetensors"
    tokens.write_text(json.dumps(IDS))
    subprocess.run([support.ENGINE, command, str(folder), str(tokens), str(out)], check=True)
    return load_file(out)


class Families(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_logits_and_gradients_equal_transformers(self):
        for name, (family, changes) in FAMILIES.items():
            with self.subTest(name):
                folder = self.work / name
                make_model(folder, family, changes)
                model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
                logits = model(torch.tensor([IDS])).logits[0]
                F.cross_entropy(logits[:-1], torch.tensor(IDS[1:])).backward()
                ours = engine_output("logits", folder, self.work)["logits"]
                self.assertLessEqual((ours - logits.detach()).abs().max().item(), 1e-4)
                gradients = engine_output("gradients", folder, self.work)
                theirs = {n: p.grad for n, p in model.named_parameters()}
                self.assertEqual(sorted(gradients), sorted(theirs))
                for key, gradient in theirs.items():
                    self.assertLessEqual((gradients[key] - gradient).abs().max().item(), 1e-4, key)

    def test_saved_folder_loads_back_in_transformers(self):
        documents = support.make_documents(SIZES["vocab_size"])
        support.write_token_file(self.work / "tokens.bin", SIZES["vocab_size"], documents)
        for name in ("mistral", "qwen2", "qwen3"):
            with self.subTest(name):
                family, changes = FAMILIES[name]
                folder = self.work / name
                make_model(folder, family, changes)
                # A learning rate this small changes no bit of these weights.
                spec = support.make_spec(folder, self.work / "tokens.bin", self.work / f"{name}-out", 2, steps=1,
                                         optimizer={"lr": 1e-30, "weight_decay": 0.0})
                support.run(spec, self.work / f"{name}-run")
                before, after = (transformers.AutoModelForCausalLM.from_pretrained(f).state_dict() for f in (folder, spec["output"]))
                self.assertEqual(sorted(before), sorted(after))
                for key, tensor in before.items():
                    self.assertTrue(torch.equal(tensor, after[key]), key)

    def test_training_is_the_same_on_any_number_of_ranks(self):
        documents = support.make_documents(SIZES["vocab_size"])
        support.write_token_file(self.work / "tokens.bin", SIZES["vocab_size"], documents)
        for name in ("mistral", "qwen2-window", "qwen3"):
            family, changes = FAMILIES[name]
            make_model(self.work / name, family, changes)
            losses = {}
            for ranks in (1, 3):
                spec = support.make_spec(self.work / name, self.work / "tokens.bin", self.work / f"{name}-{ranks}", ranks, steps=4)
                losses[ranks] = [s["loss"] for s in support.run(spec, self.work / f"{name}-run-{ranks}")]
            self.assertLess(losses[1][-1], losses[1][0])
            support.assert_close(self, losses[3], losses[1], 1e-5, f"loss of {name}")


if __name__ == "__main__":
    unittest.main()
