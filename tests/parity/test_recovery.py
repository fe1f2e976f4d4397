"""Checkpoints: stop and go on, also on another number of ranks, gives the run that was never stopped."""
import pathlib
import resource
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

    def test_checkpoints_in_the_background_resume_like_the_others(self):
        whole = support.run(self.spec("whole-b", 2, 6), self.work / "run-whole-b")
        support.run(self.spec("later", 2, 4, **{"every": 2, "async": True}), self.work / "run-later-a")
        saved = support.events(self.work / "run-later-a", "checkpoint")
        self.assertEqual([e["step"] for e in saved], [2, 4])
        self.assertTrue(all(e["seconds"] >= 0 and e["bytes"] > 0 for e in saved))
        rest = support.run(self.spec("later", 3, 6, resume=True), self.work / "run-later-b")
        support.assert_close(self, [s["loss"] for s in rest], [s["loss"] for s in whole[4:]], 1e-5, "loss")

    def test_a_writer_that_fails_in_the_background_is_named_at_a_next_step_on_every_rank(self):
        folder = self.work / "run-full"
        processes = support.start_ranks(self.spec("full", 2, 1_000_000, **{"every": 1, "async": True}), folder)
        resource.prlimit(processes[1].pid, resource.RLIMIT_FSIZE, (4096, 4096))  # rank 1's disk is "full"
        codes = support.wait_ranks(processes, timeout=60)
        self.assertTrue(all(code > 0 for code in codes), codes)
        self.assertIn("writing the checkpoint failed on rank 1", (folder / "rank_0.log").read_text())
        self.assertIn("state.safetensors", (folder / "rank_1.log").read_text())
        self.assertEqual(list((self.work / "full/checkpoints").glob("*/COMMITTED")), [])

    def test_a_run_killed_while_it_saves_resumes_from_the_newest_complete_checkpoint(self):
        folder = self.work / "run-kill"
        processes = support.start_ranks(self.spec("kill", 2, 1_000_000, **{"every": 1, "keep": 3, "async": True}), folder)
        deadline = time.time() + 60
        while len(support.events(folder, "checkpoint")) < 4 and time.time() < deadline:
            time.sleep(0.01)
        for process in processes:
            process.kill()
        support.wait_ranks(processes)
        complete = sorted((self.work / "kill/checkpoints").glob("*/COMMITTED"))
        newest = int(complete[-1].parent.name.split("_")[1])
        rest = support.run(self.spec("kill", 2, newest + 2, resume=True), self.work / "run-kill-b")
        self.assertEqual([s["step"] for s in rest], [newest + 1, newest + 2])

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
