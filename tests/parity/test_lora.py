"""LoRA: ten AdamW steps give PEFT's losses, and adapters go both ways between PEFT and the engine."""
import json
import pathlib
import statistics
import tempfile
import unittest

import peft
import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file

import support
from test_families import SIZES, make_model

# One of each family; among them tied and untied heads, biases, QK norms, a sliding window.
MODELS = {"llama": ("Llama", {}), "mistral": ("Mistral", {"sliding_window": 7}), "qwen2": ("Qwen2", {"tie_word_embeddings": True}),
          "qwen3": ("Qwen3", {"head_dim": 20})}
LORA = {"rank": 4, "alpha": 10, "target_modules": ["all-linear"]}
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def load_base(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def make_adapter(base, folder, modules, seed=11):
    """A PEFT adapter whose B is not zero, so that every gradient counts from the first step on."""
    torch.manual_seed(seed)
    config = peft.LoraConfig(r=LORA["rank"], lora_alpha=LORA["alpha"], target_modules=modules, task_type="CAUSAL_LM")
    model = peft.get_peft_model(load_base(base), config)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.05)
    model.save_pretrained(folder)


def train_peft(base, adapter, spec, dropout=0.0):
    """[loss, gradient norm] a step of plain PEFT in one process; the trained model too."""
    config = peft.LoraConfig.from_pretrained(adapter)
    config.lora_dropout, config.inference_mode = dropout, False
    model = peft.PeftModel.from_pretrained(load_base(base), adapter, is_trainable=True, config=config)
    model.train()
    torch.manual_seed(3)
    trained = [p for p in model.parameters() if p.requires_grad]
    options = spec["optimizer"]
    optimizer = torch.optim.AdamW(trained, lr=options["lr"], betas=tuple(options["betas"]), eps=1e-8, weight_decay=options["weight_decay"])
    documents = support.make_documents(SIZES["vocab_size"])
    valid = sum(label != support.IGNORED for _, labels in documents for label in labels)
    rows = []
    for _ in range(spec["steps"]):
        total = 0.0
        for ids, labels in documents:
            logits = model(input_ids=torch.tensor([ids])).logits[0].float()
            loss = F.cross_entropy(logits, torch.tensor(labels), ignore_index=support.IGNORED, reduction="sum") / valid
            loss.backward()
            total += loss.item()
        norm = torch.nn.utils.clip_grad_norm_(trained, options["clip_grad"]).item()
        optimizer.step()
        optimizer.zero_grad()
        rows.append([total, norm])
    return rows, model


class Lora(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tokens = self.work / "tokens.bin"
        support.write_token_file(self.tokens, SIZES["vocab_size"], support.make_documents(SIZES["vocab_size"]))

    def spec(self, base, output, ranks, steps=10, lora=None, **changes):
        spec = support.make_spec(self.work / base, self.tokens, self.work / output, ranks, steps,
                                 **{"optimizer": {"lr": 1e-2}, **changes})
        return {**spec, "lora": {**LORA, **(lora or {})}}

    def prepare(self, name):
        make_model(self.work / name, *MODELS[name])
        return self.work / name

    def test_ten_steps_equal_peft_for_every_family_on_any_number_of_ranks(self):
        for name in MODELS:
            base, adapter = self.prepare(name), self.work / f"{name}-adapter"
            modules = ALL if name != "qwen2" else ["q_proj", "v_proj"]
            make_adapter(base, adapter, modules)
            lora = {"adapter": str(adapter), "target_modules": ["all-linear"] if modules == ALL else modules}
            theirs, model = train_peft(base, adapter, self.spec(name, "", 1))
            self.assertLess(theirs[-1][0], theirs[0][0])
            for ranks in (1, 2, 3, 4) if name == "llama" else (2, 3):
                output = f"{name}-out-{ranks}"
                # On three ranks with recomputation, as it would be used when memory is short.
                changes = {"fsdp": {"activation_checkpointing": "full"}} if ranks == 3 else {}
                steps = support.run(self.spec(name, output, ranks, lora=lora, **changes), self.work / f"{name}-run-{ranks}")
                support.assert_close(self, [s["loss"] for s in steps], [t[0] for t in theirs], 1e-5, f"loss of {name} on {ranks} ranks")
                support.assert_close(self, [s["grad_norm"] for s in steps], [t[1] for t in theirs], 1e-4, f"gradient norm of {name}")
            self.same_logits(base, self.work / f"{name}-out-2", model)

    def same_logits(self, base, output, model):
        """PEFT loads what we saved, and computes what its own trained model does."""
        ours = peft.PeftModel.from_pretrained(load_base(base), output)
        ids = torch.tensor([[i * 37 % 101 for i in range(40)]])
        with torch.no_grad():
            a, b = ours(input_ids=ids).logits, model(input_ids=ids).logits
        self.assertLessEqual((a - b).abs().max().item(), 2e-3 * b.abs().max().item())

    def test_new_adapters_are_loadable_in_peft_and_start_at_the_base_model(self):
        base = self.prepare("qwen3")
        support.run(self.spec("qwen3", "fresh", 3, steps=1, optimizer={"lr": 1e-30, "weight_decay": 0.0}), self.work / "run")
        names = sorted(p.name for p in (self.work / "fresh").iterdir())
        self.assertEqual(names, ["adapter_config.json", "adapter_model.safetensors"])
        ours = peft.PeftModel.from_pretrained(load_base(base), self.work / "fresh")
        ids = torch.tensor([[i * 37 % 101 for i in range(40)]])
        with torch.no_grad():
            self.assertTrue(torch.equal(ours(input_ids=ids).logits, load_base(base)(input_ids=ids).logits))
        theirs = self.work / "theirs"
        make_adapter(base, theirs, ALL)
        saved, expected = (load_file(f / "adapter_model.safetensors") for f in (self.work / "fresh", theirs))
        self.assertEqual({k: v.shape for k, v in saved.items()}, {k: v.shape for k, v in expected.items()})
        for name, tensor in saved.items():
            if "lora_A" in name:
                self.assertAlmostEqual(tensor.std().item(), expected[name].std().item(), delta=0.25 * expected[name].std().item())

    def test_dropout_is_that_of_peft_and_the_same_on_any_number_of_ranks(self):
        base, adapter = self.prepare("llama"), self.work / "adapter"
        make_adapter(base, adapter, ALL)
        lora = {"adapter": str(adapter), "dropout": 0.4}
        still = {"optimizer": {"lr": 1e-30, "weight_decay": 0.0}}  # each step is one more draw of the same model's loss
        count = 40
        ours = support.run(self.spec("llama", "one", 1, steps=count, lora=lora, **still), self.work / "run-1")
        changes = {**still, "fsdp": {"activation_checkpointing": "full"}}
        many = support.run(self.spec("llama", "three", 3, steps=count, lora=lora, **changes), self.work / "run-3")
        support.assert_close(self, [s["loss"] for s in many], [s["loss"] for s in ours], 1e-5, "loss on three ranks")
        support.assert_close(self, [s["grad_norm"] for s in many], [s["grad_norm"] for s in ours], 1e-4, "gradient norm on three ranks")
        theirs, _ = train_peft(base, adapter, self.spec("llama", "", 1, steps=count, **still), dropout=lora["dropout"])
        plain, _ = train_peft(base, adapter, self.spec("llama", "", 1, steps=1, **still))
        for i, name in enumerate(("loss", "grad_norm")):
            a, b = [s[name] for s in ours], [t[i] for t in theirs]
            deviation = statistics.stdev(b)
            self.assertGreater(deviation, 1e-4 * plain[0][i])
            self.assertLess(abs(statistics.mean(a) - statistics.mean(b)), 4 * deviation * (2 / count) ** 0.5, name)
            self.assertLess(abs(statistics.stdev(a) / deviation - 1), 0.5, name)
        saved = json.loads((self.work / "one/adapter_config.json").read_text())
        self.assertEqual(saved["lora_dropout"], lora["dropout"])
        self.assertEqual(peft.LoraConfig.from_pretrained(self.work / "one").lora_dropout, lora["dropout"])

    def test_resuming_equals_the_uninterrupted_run_and_saves_no_base(self):
        self.prepare("llama")
        whole = support.run(self.spec("llama", "whole", 2, steps=6, global_batch_size=3), self.work / "run-whole")
        support.run(self.spec("llama", "parts", 2, steps=4, global_batch_size=3, checkpoint={"every": 4}), self.work / "run-a")
        state = load_file(next((self.work / "parts/checkpoints").iterdir()) / "state.safetensors")
        self.assertTrue(all("lora_" in name for name in state))
        rest = support.run(self.spec("llama", "parts", 3, steps=6, global_batch_size=3, checkpoint={"resume": True}), self.work / "run-b")
        self.assertEqual([s["step"] for s in rest], [5, 6])
        support.assert_close(self, [s["loss"] for s in rest], [s["loss"] for s in whole[4:]], 1e-5, "loss")

    def test_an_adapter_of_another_kind_is_one_clear_error_on_every_rank(self):
        base = self.prepare("llama")
        make_adapter(base, self.work / "adapter", ALL)
        config = self.work / "adapter/adapter_config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), "use_dora": True}))
        folder = self.work / "run"
        spec = self.spec("llama", "out", 2, lora={"adapter": str(self.work / "adapter")})
        codes = support.wait_ranks(support.start_ranks(spec, folder), timeout=60)
        self.assertTrue(all(codes), codes)
        for rank in range(2):
            self.assertIn("use_dora is set", (folder / f"rank_{rank}.log").read_text())


if __name__ == "__main__":
    unittest.main()
