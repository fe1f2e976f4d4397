"""Logits in fp32 equal those of transformers."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

import support

SMOLLM2 = support.ROOT / "build/models/SmolLM2-135M-Instruct"
TEXT = ("Fully sharded data parallel training keeps only a slice of every parameter on each rank. Before a layer runs, its ranks gather "
        "the full weights, and they free them right after. Gradients are reduced and scattered, so each rank updates what it owns.\n") * 3


def our_logits(folder, ids, work):
    tokens, out = work / "tokens.json", work / "logits.safetensors"
    tokens.write_text(json.dumps(ids))
    subprocess.run([support.ENGINE, "logits", str(folder), str(tokens), str(out)], check=True)
    return load_file(out)["logits"]


def their_logits(folder, ids, dtype=torch.float32):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0]


def largest_difference(a, b):
    return (a.double() - b.double()).abs().max().item()


class Logits(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_untied_and_tied_random_models_equal_transformers(self):
        for tied in (False, True):
            folder = self.work / f"tied-{tied}"
            config = support.make_model(folder, tied, seed=3)
            ids = [i * 37 % config.vocab_size for i in range(90)]
            self.assertLessEqual(largest_difference(our_logits(folder, ids, self.work), their_logits(folder, ids)), 1e-4)

    def test_smollm2_equals_transformers_on_text(self):
        self.need_smollm2()
        ids = AutoTokenizer.from_pretrained(SMOLLM2)(TEXT)["input_ids"]
        self.assertLessEqual(largest_difference(our_logits(SMOLLM2, ids, self.work), their_logits(SMOLLM2, ids)), 1e-4)

    def test_smollm2_is_about_as_exact_as_transformers_on_nonsense(self):
        # Random tokens bring fp32 to its limits: transformers' own two attention kernels differ by more than 1e-4 there.
        self.need_smollm2()
        ids = [(i * i * 31 + 7 * i) % 49152 for i in range(200)]
        exact = their_logits(SMOLLM2, ids, torch.float64)
        theirs = largest_difference(their_logits(SMOLLM2, ids), exact)
        self.assertLessEqual(largest_difference(our_logits(SMOLLM2, ids, self.work), exact), 3 * theirs)

    def need_smollm2(self):
        if not SMOLLM2.exists():
            self.skipTest(f"{SMOLLM2} is missing: run scripts/get_model.py")


if __name__ == "__main__":
    unittest.main()
