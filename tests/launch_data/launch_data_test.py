"""launch_run on the real model folder with each data format, and with data that cannot be used: what the run's status says."""
import json
import pathlib
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))
import support  # noqa: E402  (after the path)

MODEL = ROOT / "build/models/SmolLM2-135M-Instruct"
LENGTH = 64


def conversation(*turns):
    return json.dumps({"messages": [{"role": role, "content": content} for role, content in turns]}) + "\n"


GOOD = conversation(("user", "What does FSDP shard?"), ("assistant", "Parameters, gradients and optimizer states.")) * 4


class LaunchData(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.server = support.Serve(cls.folder / "home")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.scratch.cleanup()

    def call(self, tool, **arguments):
        return self.server.request("POST", f"/v1/tools/{tool}", json.dumps(arguments), support.JSON)

    def outcome(self, form, name, content, **data):
        """The last status of a run of one step on this data."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        started = self.call("launch_run", model=str(MODEL), data={"path": str(path), "format": form, "max_seq_len": LENGTH, **data},
                            output=str(self.folder / f"out-{name}"), ranks=2, steps=1, optimizer={"lr": 1e-5})
        self.assertEqual(started.status, 200, started.body)
        until = time.time() + 100
        while time.time() < until:
            status = self.call("run_status", run_id=started.json["run_id"], wait_s=5).json
            if status["state"] in ("succeeded", "failed", "stopped"):
                return status
        self.fail(f"still {status}")

    def test_messages_texts_and_token_files_are_trained_on(self):
        for form, name, content, data in (("messages", "talk.jsonl", GOOD, {}),
                                          ("text", "rows.jsonl", json.dumps({"text": "Sharding saves memory. " * 20}) + "\n", {}),
                                          ("text", "book.txt", "Sharding saves memory.\n" * 60, {"batching": "dynamic"})):
            status = self.outcome(form, name, content, **data)
            self.assertEqual(status["state"], "succeeded", status)
            self.assertTrue(0 < status["loss"] < 15, status)
        made = next(self.folder.glob("home/runs/*/data.tok"))
        status = self.outcome("tokens", "made.tok", made.read_bytes())
        self.assertEqual(status["state"], "succeeded", status)

    def test_data_that_cannot_be_used_is_named_with_its_place(self):
        long_answer = conversation(("user", "q"), ("assistant", "word " * 300))
        for form, name, content, words, data in (
                ("messages", "role.jsonl", GOOD + conversation(("robot", "x")), "role.jsonl:5: message 1 has the role 'robot'", {}),
                ("messages", "empty.jsonl", "", "holds nothing to train on", {}),
                ("text", "empty.txt", "", "holds nothing to train on", {}),
                ("messages", "question.jsonl", conversation(("user", "q")), "holds nothing to train on", {}),
                ("messages", "bytes.jsonl", b"\xff\xfe\x00a", "is not UTF-8 text: byte 0", {}),
                ("text", "bytes.txt", b"abc\xc3\x28", "is not UTF-8 text: byte 3", {}),
                ("messages", "words.jsonl", "hello\n", "words.jsonl:1: is not valid JSON", {}),
                ("messages", "long.jsonl", GOOD + long_answer, "long.jsonl:5: has", {"long_documents": "refuse"}),
                ("tokens", "noise.tok", b"noise" * 100, "does not begin with FXTOKENS", {})):
            status = self.outcome(form, name, content, **data)
            self.assertEqual(status["state"], "failed", f"{name}: {status}")
            self.assertIn(words, status["reason"])

    def test_a_huge_document_is_split_within_the_budget(self):
        status = self.outcome("text", "huge.txt", "one more line of a very long book\n" * 60_000)
        self.assertEqual(status["state"], "succeeded", status)
        self.assertEqual(self.call("launch_run", model=str(MODEL), data={"path": str(self.folder / "nowhere.jsonl")}, output="o", steps=1).status, 400)


if __name__ == "__main__":
    unittest.main()
