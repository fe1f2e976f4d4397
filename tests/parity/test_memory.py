"""Memory: a rank of the engine never holds more bytes of tensors than one of Python FSDP2 on the same model and batch. Both are counted
where LibTorch allocates, so that neither Python nor libraries are in it."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import support

HERE = pathlib.Path(__file__).resolve().parent
ENGINE_MEMORY = os.environ.get("FX_ENGINE_MEMORY", "engine_memory")
RANKS = 2


class Memory(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def compare(self, case, theirs):
        dtype, reshard, tokens = case
        ours = json.loads(subprocess.run([ENGINE_MEMORY, self.work / "model", str(RANKS), dtype, str(int(reshard)), str(tokens)], check=True,
                                         stdout=subprocess.PIPE).stdout)
        print(f"{dtype}, {'resharded' if reshard else 'kept'}, {tokens} tokens: "
              + ", ".join(f"{phase} {ours[phase] / 2**20:.2f} / {theirs[phase] / 2**20:.2f} MiB" for phase in ours), flush=True)
        for phase in ours:
            self.assertLessEqual(ours[phase], theirs[phase], phase)
        # Both counters see all that stays: weights and two moments in fp32.
        for side in (ours, theirs):
            self.assertGreaterEqual(side["after"], 3 * 4 * self.parameters / RANKS)
        self.assertLessEqual(ours["after"], 3 * 4 * self.parameters / RANKS * 1.01)

    def test_peaks_are_not_above_those_of_fsdp2(self):
        config = support.make_model(self.work / "model", tied=False, hidden=256, layers=6)
        block = 2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * config.intermediate_size + 2 * 256
        self.parameters = 6 * block + 2 * config.vocab_size * 256 + 256
        # Two tokens: parameters and gradients alone; 256: with activations.
        cases = [[dtype, reshard, tokens] for tokens in (2, 256) for dtype in ("fp32", "bf16") for reshard in (True, False)]
        all_theirs = support.run_python_ranks([HERE / "fsdp2_memory.py", self.work / "model", json.dumps(cases)], RANKS)
        for case, theirs in zip(cases, all_theirs):
            with self.subTest(case=case):
                self.compare(case, theirs)


if __name__ == "__main__":
    unittest.main()
