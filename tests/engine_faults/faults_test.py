"""One rank of a real three-rank run skips a collective, sleeps, stops, is killed or throws. The run ends by itself, and its stored
diagnosis names the cause, the rank and the operation."""
import importlib.util
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]


def load(folder):
    """The support module of another test folder, under a name of its own."""
    spec = importlib.util.spec_from_file_location(folder + "_support", TESTS / folder / "support.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


server, parity = load("server"), load("parity")
RANKS, VICTIM, TIMEOUT_S = 3, 1, 15  # the time-out also covers the meeting of the ranks on a busy machine


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        config = parity.make_model(cls.work / "model", True)
        parity.write_token_file(cls.work / "data.tok", config.vocab_size, parity.make_documents(config.vocab_size))

    def start(self, fault):
        """A run with this fault in rank 1; its id."""
        for name, value in {"FX_FAULT": fault, "FX_FAULT_RANK": VICTIM, "FX_TIMEOUT_S": TIMEOUT_S}.items():
            os.environ[name] = str(value)
        self.home = self.work / ("home-" + (fault or "none"))
        self.serve = server.Serve(self.home)
        self.addCleanup(self.serve.stop)
        spec = parity.make_spec(self.work / "model", self.work / "data.tok", self.work / "out", RANKS, 100000, optimizer={"lr": 1e-4})
        return self.call("launch_run", **spec)["run_id"]

    def call(self, tool, **arguments):
        answer = self.serve.request("POST", f"/v1/tools/{tool}", json.dumps(arguments), server.JSON)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def follow(self, run_id, enough=lambda status: status["state"] in ("succeeded", "failed", "stopped"), seconds=90):
        until = time.time() + seconds
        while time.time() < until:
            status = self.call("run_status", run_id=run_id)
            if enough(status):
                return status
            time.sleep(0.1)
        self.fail(f"still {status}")

    def diagnosis(self, run_id):
        """The run's stored cause and a text with all that the logs say, for messages."""
        status = self.follow(run_id)
        folder = self.home / "runs" / run_id
        said = "\n".join(f"--- {p.name}\n{p.read_text(errors='replace')[-3000:]}" for p in sorted(folder.glob("*.log")))
        self.assertEqual(status["state"], "failed", said)
        review = self.call("review_run", run_id=run_id)
        self.assertEqual(review["cause"]["id"], status["cause"]["id"])
        return review["cause"], f"{json.dumps(review['cause'], indent=1)}\n{said}", folder

    def dump(self, folder, rank):
        return json.loads((folder / f"flight_rank_{rank}.json").read_text())

    def expect(self, cause, said, cause_id, *words):
        self.assertEqual((cause["id"], cause["root_rank"]), (cause_id, VICTIM), said)
        text = json.dumps(cause)
        for word in words:
            self.assertIn(word, text, said)

    def test_a_rank_that_skips_a_collective(self):
        cause, said, folder = self.diagnosis(self.start("skip"))
        self.expect(cause, said, "conditional-forward-desync", "all_gather", "layer 1", "layer 2")
        operations = {rank: {e["collective_seq_id"]: e["stage"] for e in self.dump(folder, rank)["entries"]} for rank in range(RANKS)}
        first = min(n for n in operations[0] if operations[0][n] != operations[VICTIM].get(n))
        self.assertEqual((operations[0][first], operations[2][first], operations[VICTIM][first]), ("layer 1", "layer 1", "layer 2"))

    def test_a_rank_that_sleeps(self):
        cause, said, folder = self.diagnosis(self.start("sleep"))
        self.expect(cause, said, "nccl-timeout-undetermined", "forward, layer 1", "all_gather")
        self.assertEqual(self.dump(folder, VICTIM)["phase"], "forward, layer 1")

    def test_a_rank_that_is_stopped_and_cannot_say_a_word(self):
        run_id = self.start("")
        status = self.follow(run_id, lambda s: s["step"] >= 3)
        os.kill(status["ranks"][VICTIM]["pid"], signal.SIGSTOP)
        cause, said, folder = self.diagnosis(run_id)
        self.expect(cause, said, "nccl-timeout-undetermined", "said nothing more", "#")
        self.assertFalse((folder / f"flight_rank_{VICTIM}.json").exists())
        waited = [e for e in self.dump(folder, 0)["entries"] if e["state"] != "completed"]
        self.assertTrue(waited, said)

    def test_a_rank_that_is_killed(self):
        cause, said, folder = self.diagnosis(self.start("kill"))
        self.expect(cause, said, "rank-killed", "SIGKILL", "all_gather", "layer 2")
        for rank in (0, 2):
            self.assertEqual([e["state"] for e in self.dump(folder, rank)["entries"]][-1], "started")

    def test_a_rank_that_throws(self):
        cause, said, folder = self.diagnosis(self.start("throw"))
        self.expect(cause, said, "single-rank-exception", "the sample has no tokens", "forward, layer 1")
        self.assertIn("failed by itself", self.dump(folder, VICTIM)["reason"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
