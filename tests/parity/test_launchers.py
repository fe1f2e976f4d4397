"""torchrun starts the ranks just as our own supervisor does."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support


class Launchers(unittest.TestCase):
    def test_torchrun_gives_the_losses_of_our_own_start(self):
        work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        config = support.make_model(work / "model", True)
        support.write_token_file(work / "tokens.bin", config.vocab_size, support.make_documents(config.vocab_size))
        ours = support.run(support.make_spec(work / "model", work / "tokens.bin", work / "out", 2, 3), work / "own")
        spec = work / "spec.json"
        spec.write_text(json.dumps(support.make_spec(work / "model", work / "tokens.bin", work / "out2", 2, 3)))
        (work / "torchrun").mkdir()
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--master_addr=127.0.0.1", f"--master_port={support.free_port()}",
                               "--local_addr=127.0.0.1", "--nproc_per_node=2", "--no_python",
                               support.ENGINE, "train", str(spec)], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "FX_EVENTS": str(work / "torchrun/events.jsonl"), "FX_TIMEOUT_S": "60"})
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        theirs = support.events(work / "torchrun", "step")
        self.assertEqual([e["loss"] for e in ours], [e["loss"] for e in theirs])


if __name__ == "__main__":
    unittest.main()
