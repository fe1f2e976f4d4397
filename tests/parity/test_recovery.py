"""Checkpoints: stop and go on, also on another number of ranks, gives the run that was never stopped."""
import pathlib
import signal
import tempfile
import time
import unittest

import torch
from transformers import AutoModelForCausalLM

import support


class Recovery(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model, self.tokens = self.work / "model", self.work / "tokens.bin"
        config = support.make_model(self.model, True)
        support.write_token_file(self.tokens, config.vocab_size, support.make_documents(config.vocab_size))

    def spec(self, output, ranks, steps, **checkpoint):
        return support.make_spec(self.model, self.tokens, self.work / output, ranks, steps, checkpoint=checkpoint,
                                 optimizer={"schedule": "constant"}, global_batch_size=3)

    def test_resuming_on_other_ranks_equals_the_uninterrupted_run(self):
        whole = support.run(self.spec("whole", 2, 8), self.work / "run-whole")
        for ranks in (1, 2, 3):
            output = f"parts-{ranks}"
            support.run(self.spec(output, 2, 5, every=5), self.work / f"run-{ranks}-a")
            rest = support.run(self.spec(output, ranks, 8, resume=True), self.work / f"run-{ranks}-b")
            self.assertEqual([s["step"] for s in rest], [6, 7, 8])
            support.assert_close(self, [s["loss"] for s in rest], [s["loss"] for s in whole[5:]], 1e-5, f"loss on {ranks} ranks")
        ours = AutoModelForCausalLM.from_pretrained(self.work / "parts-2").state_dict()
        for name, tensor in AutoModelForCausalLM.from_pretrained(self.work / "whole").state_dict().items():
            self.assertTrue(torch.equal(tensor, ours[name]), name)

    def test_a_checkpoint_without_its_commit_marker_is_no_checkpoint(self):
        support.run(self.spec("cut", 2, 4, every=2), self.work / "run-cut-a")
        newest = sorted((self.work / "cut/checkpoints").iterdir())[-1]
        (newest / "COMMITTED").unlink()
        rest = support.run(self.spec("cut", 2, 4, resume=True), self.work / "run-cut-b")
        self.assertEqual([s["step"] for s in rest], [3, 4])

    def test_sigterm_to_one_rank_ends_all_with_a_checkpoint_and_exit_0(self):
        folder = self.work / "run-stop"
        processes = support.start_ranks(self.spec("stop", 2, 1_000_000), folder)
        deadline = time.time() + 60
        while len(support.events(folder, "step")) < 3 and time.time() < deadline:
            time.sleep(0.02)
        processes[1].send_signal(signal.SIGTERM)
        self.assertEqual(support.wait_ranks(processes), [0, 0], support.logs(folder))
        last = support.events(folder)[-1]
        self.assertEqual((support.kind_of(last), last["state"]), ("finish", "stopped"))
        saved = support.events(folder, "checkpoint")[-1]
        self.assertEqual(saved["step"], support.events(folder, "step")[-1]["step"])
        rest = support.run(self.spec("stop", 3, saved["step"] + 2, resume=True), self.work / "run-stop-b")
        self.assertEqual([s["step"] for s in rest], [saved["step"] + 1, saved["step"] + 2])


if __name__ == "__main__":
    unittest.main()
