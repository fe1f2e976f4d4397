"""Python FSDP2 on our shared-memory backend (the module fsdp_shm): the losses are those on Gloo, and every collective means the same."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support

HERE = pathlib.Path(__file__).resolve().parent


def run_ranks(arguments, ranks):
    """Rank 0's last line as JSON."""
    base = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(support.free_port())}
    processes = [subprocess.Popen([sys.executable, *map(str, arguments)], env={**base, "RANK": str(r)}, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) for r in range(ranks)]
    try:
        outputs = [p.communicate(timeout=200) for p in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outputs):
        if process.returncode:
            raise AssertionError(errors[-3000:])
    return json.loads(outputs[0][0].splitlines()[-1])


class PythonBackend(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_fsdp2_has_the_losses_of_gloo(self):
        config = support.make_model(self.work / "model", True)
        support.write_token_file(self.work / "tokens.bin", config.vocab_size, support.make_documents(config.vocab_size))
        spec = self.work / "spec.json"
        spec.write_text(json.dumps(support.make_spec(self.work / "model", self.work / "tokens.bin", self.work / "out", 2, steps=5)))
        gloo, shm = (run_ranks([HERE / "fsdp2_reference.py", spec, backend], 2) for backend in ("gloo", "shm"))
        self.assertLess(shm[-1][0], shm[0][0])
        # Sums of two addends are the same in any order.
        self.assertEqual(shm, gloo)

    def test_collectives_mean_what_they_mean_on_gloo(self):
        for ranks in (2, 3):
            self.assertEqual(run_ranks([HERE / "shm_collectives.py"], ranks), "same")


if __name__ == "__main__":
    unittest.main()
