"""Ten AdamW steps: the same losses on 1, 2 and 3 ranks, and those of Python FSDP2 on the same weights and documents."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
from transformers import AutoModelForCausalLM

import support

HERE = pathlib.Path(__file__).resolve().parent


def run_fsdp2(spec, folder, ranks=2):
    folder.mkdir()
    (folder / "spec.json").write_text(json.dumps(spec))
    base = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(support.free_port())}
    command = [sys.executable, str(HERE / "fsdp2_reference.py"), str(folder / "spec.json")]
    others = [subprocess.Popen(command, env={**base, "RANK": str(r)}, stdout=subprocess.DEVNULL) for r in range(1, ranks)]
    try:
        out = subprocess.run(command, env={**base, "RANK": "0"}, stdout=subprocess.PIPE, text=True, check=True, timeout=240).stdout
    finally:
        for process in others:
            process.wait(timeout=30)
    return json.loads(out.splitlines()[-1])


class Losses(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def prepare(self, tied):
        model, tokens = self.work / f"model-{tied}", self.work / f"tokens-{tied}.bin"
        config = support.make_model(model, tied)
        support.write_token_file(tokens, config.vocab_size, support.make_documents(config.vocab_size))
        return model, tokens

    def check(self, tied):
        model, tokens = self.prepare(tied)
        spec = lambda ranks: support.make_spec(model, tokens, self.work / f"out-{tied}-{ranks}", ranks)
        theirs = run_fsdp2(spec(2), self.work / f"fsdp2-{tied}")
        self.assertLess(theirs[-1][0], theirs[0][0])
        for ranks in (1, 2, 3):
            steps = support.run(spec(ranks), self.work / f"run-{tied}-{ranks}")
            support.assert_close(self, [s["loss"] for s in steps], [t[0] for t in theirs], 1e-5, f"loss on {ranks} ranks")
            support.assert_close(self, [s["grad_norm"] for s in steps], [t[1] for t in theirs], 1e-4, f"gradient norm on {ranks} ranks")

    def test_tied_model_equals_fsdp2_on_any_number_of_ranks(self):
        self.check(True)

    def test_untied_model_equals_fsdp2_on_any_number_of_ranks(self):
        self.check(False)

    def test_micro_batches_and_kept_parameters_change_no_loss(self):
        model, tokens = self.prepare(True)
        base = support.run(support.make_spec(model, tokens, self.work / "a", 2, steps=4), self.work / "run-a")
        for name, changes in {"wide": {"max_tokens_per_rank": 3 * support.MAX_SEQ_LEN},
                              "kept": {"fsdp": {"reshard_after_forward": False}},
                              "recomputed": {"fsdp": {"activation_checkpointing": "full"}},
                              "half": {"fsdp": {"activation_checkpointing": "selective", "norms_fp32": True}},
                              "once": {"fsdp": {"reduce_each_micro_batch": False}},
                              "unpacked": {"data": {"packing": False}, "global_batch_size": len(support.DOCUMENT_LENGTHS)}}.items():
            spec = support.make_spec(model, tokens, self.work / name, 2, steps=4, **changes)
            steps = support.run(spec, self.work / f"run-{name}")
            support.assert_close(self, [s["loss"] for s in steps], [s["loss"] for s in base], 1e-5, f"{name} loss")

    def test_dynamic_batches_have_the_same_losses_on_any_number_of_ranks(self):
        model, tokens = self.prepare(True)
        packed = support.run(support.make_spec(model, tokens, self.work / "packed", 1, steps=4), self.work / "run-packed")
        for name, long_documents, length in (("whole", "refuse", support.MAX_SEQ_LEN), ("split", "split", 12)):
            data = {"batching": "dynamic", "long_documents": long_documents, "max_seq_len": length}
            size = len(support.DOCUMENT_LENGTHS) if name == "whole" else sum(-(-n // 12) for n in support.DOCUMENT_LENGTHS)
            losses = {}
            for ranks in (1, 2, 3, 4):
                spec = support.make_spec(model, tokens, self.work / f"{name}-{ranks}", ranks, steps=4, data=data, global_batch_size=size,
                                         max_tokens_per_rank=40)
                steps = support.run(spec, self.work / f"run-{name}-{ranks}")
                losses[ranks] = [s["loss"] for s in steps]
                support.assert_close(self, losses[ranks], losses[1], 1e-5, f"{name} loss on {ranks} ranks")
            if name == "whole":  # the same documents as in one step of packs
                support.assert_close(self, losses[1], [s["loss"] for s in packed], 1e-5, "dynamic against packed")

    def test_copies_and_slices_over_real_process_groups_change_no_loss(self):
        model, tokens = self.prepare(False)
        base = support.run(support.make_spec(model, tokens, self.work / "one", 1, steps=4), self.work / "run-one")
        for name, transport, fsdp in (("copies", "shm", {"replicate": 2}), ("copies-gloo", "gloo", {"replicate": 2}),
                                      ("slices", "shm", {"reshard_after_forward": 2}),
                                      ("both", "shm", {"replicate": 2, "reshard_after_forward": 2})):
            spec = support.make_spec(model, tokens, self.work / name, 4, steps=4, fsdp=fsdp, checkpoint={"every": 2})
            steps = support.run(spec, self.work / f"run-{name}", FX_TRANSPORT=transport)
            support.assert_close(self, [s["loss"] for s in steps], [s["loss"] for s in base], 1e-5, f"{name} loss")
            rest = support.run({**spec, "ranks": 2, "fsdp": support.make_spec(model, tokens, "", 2)["fsdp"], "steps": 5,
                                "checkpoint": {"resume": True}}, self.work / f"run-{name}-rest")
            self.assertEqual([s["step"] for s in rest], [5])

    def test_saved_folder_loads_in_transformers_with_what_was_trained(self):
        for tied in (True, False):
            model, tokens = self.prepare(tied)
            folders = []
            for ranks in (1, 3):
                # A learning rate this small changes no bit of these weights: the output must be the input, tensor by tensor.
                spec = support.make_spec(model, tokens, self.work / f"same-{tied}-{ranks}", ranks, steps=1,
                                         optimizer={"lr": 1e-30, "weight_decay": 0.0})
                support.run(spec, self.work / f"run-same-{tied}-{ranks}")
                folders.append(spec["output"])
            before = AutoModelForCausalLM.from_pretrained(model).state_dict()
            for folder in folders:
                after = AutoModelForCausalLM.from_pretrained(folder).state_dict()
                self.assertEqual(sorted(before), sorted(after))
                for name, tensor in before.items():
                    self.assertTrue(torch.equal(tensor, after[name]), name)


if __name__ == "__main__":
    unittest.main()
