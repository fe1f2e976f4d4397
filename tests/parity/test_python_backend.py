"""Python FSDP2 on our shared-memory backend (the module fsdp_shm): the losses are those on Gloo, and every collective means the same."""
import json
import pathlib
import tempfile
import unittest

import support

HERE = pathlib.Path(__file__).resolve().parent


class PythonBackend(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_fsdp2_has_the_losses_of_gloo(self):
        config = support.make_model(self.work / "model", True)
        support.write_token_file(self.work / "tokens.bin", config.vocab_size, support.make_documents(config.vocab_size))
        spec = self.work / "spec.json"
        spec.write_text(json.dumps(support.make_spec(self.work / "model", self.work / "tokens.bin", self.work / "out", 2, steps=5)))
        gloo, shm = (support.run_python_ranks([HERE / "fsdp2_reference.py", spec, backend], 2) for backend in ("gloo", "shm"))
        self.assertLess(shm[-1][0], shm[0][0])
        # Sums of two addends are the same in any order.
        self.assertEqual(shm, gloo)

    def test_collectives_mean_what_they_mean_on_gloo(self):
        for ranks in (2, 3):
            self.assertEqual(support.run_python_ranks([HERE / "shm_collectives.py"], ranks), "same")


if __name__ == "__main__":
    unittest.main()
