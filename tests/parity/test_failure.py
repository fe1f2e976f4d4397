"""What goes wrong is said by name, by every rank, and nothing hangs."""
import json
import pathlib
import signal
import tempfile
import time
import unittest

import support


class Failure(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model, self.tokens = self.work / "model", self.work / "tokens.bin"
        config = support.make_model(self.model, False)
        support.write_token_file(self.tokens, config.vocab_size, support.make_documents(config.vocab_size))

    def spec(self, ranks, steps, **changes):
        return support.make_spec(self.model, self.tokens, self.work / "out", ranks, steps, **changes)

    def errors_of(self, folder, rank):
        lines = (folder / f"rank_{rank}.log").read_text().splitlines()
        return [row for row in map(json.loads, (l for l in lines if l.startswith("{"))) if support.kind_of(row) == "error"]

    def expect_failure(self, spec, text):
        folder = self.work / "run"
        codes = support.wait_ranks(support.start_ranks(spec, folder), timeout=60)
        self.assertTrue(all(codes), codes)
        for rank in range(spec["ranks"]):
            self.assertIn(text, (folder / f"rank_{rank}.log").read_text())

    def test_a_killed_rank_makes_the_others_name_the_collective(self):
        folder = self.work / "run"
        processes = support.start_ranks(self.spec(3, 1_000_000), folder, FX_TIMEOUT_S=20)
        deadline = time.time() + 60
        while len(support.events(folder, "step")) < 2 and time.time() < deadline:
            time.sleep(0.02)
        began = time.time()
        processes[1].send_signal(signal.SIGKILL)
        codes = support.wait_ranks(processes, timeout=40)
        self.assertLess(time.time() - began, 25)
        self.assertEqual(codes[1], -signal.SIGKILL)
        for rank in (0, 2):
            self.assertNotEqual(codes[rank], 0)
            error = self.errors_of(folder, rank)[-1]
            self.assertEqual(error["rank"], rank)
            self.assertIn(error["collective"], ("all_gather", "reduce_scatter", "all_reduce", "barrier"))
            self.assertGreater(error["sequence"], 0)

    def test_a_missing_model_is_one_clear_error_on_every_rank(self):
        self.expect_failure({**self.spec(2, 2), "model": str(self.work / "nowhere")}, "nowhere")

    def test_a_parameter_of_another_shape_is_named_on_every_rank(self):
        from safetensors.torch import load_file, save_file
        tensors = load_file(self.model / "model.safetensors")
        name = "model.layers.1.mlp.up_proj.weight"
        tensors[name] = tensors[name][:-1].clone()
        save_file(tensors, self.model / "model.safetensors", metadata={"format": "pt"})
        self.expect_failure(self.spec(2, 2), name)

    def change(self, edit):
        """Rewrites the model's tensors."""
        from safetensors.torch import load_file, save_file
        tensors = load_file(self.model / "model.safetensors")
        edit(tensors)
        save_file(tensors, self.model / "model.safetensors", metadata={"format": "pt"})

    def test_a_missing_parameter_is_named_on_every_rank(self):
        self.change(lambda tensors: tensors.pop("model.layers.2.self_attn.k_proj.weight"))
        self.expect_failure(self.spec(3, 2), "model.layers.2.self_attn.k_proj.weight")

    def test_a_gradient_that_is_no_number_ends_the_run_on_every_rank(self):
        self.change(lambda tensors: tensors["model.layers.1.mlp.up_proj.weight"][0].fill_(float("nan")))
        self.expect_failure(self.spec(3, 2), "not finite")

    def test_files_of_several_dtypes_are_read(self):
        def halve(tensors):
            for name in list(tensors)[::2]:
                tensors[name] = tensors[name].bfloat16()
        self.change(halve)
        self.assertEqual(len(support.run(self.spec(2, 2), self.work / "run")), 2)

    def test_another_number_of_ranks_than_the_spec_says_is_refused(self):
        spec = self.spec(2, 2)
        folder = self.work / "run"
        processes = support.start_ranks(spec, folder, WORLD_SIZE=3)
        self.assertEqual(support.wait_ranks(processes, timeout=30), [2, 2])
        self.assertIn("ranks", (folder / "rank_0.log").read_text())


if __name__ == "__main__":
    unittest.main()
