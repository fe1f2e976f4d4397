"""Runs as clients see them: real servers, supervisors and processes; ranks are played by rank_player.py."""
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "server"))
os.environ["FX_ENGINE"] = str(HERE / "rank_player.py")
import support  # noqa: E402  (after the path)

ENDED = ("succeeded", "failed", "stopped")


class Runs(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        (self.folder / "model").mkdir()
        (self.folder / "model/config.json").write_text("{}")
        (self.folder / "data.tok").write_bytes(b"tokens")
        self.server = support.Serve(self.folder / "home")

    def tearDown(self):
        for run in (self.folder / "home/runs").glob("*"):
            self.call("stop_run", run_id=run.name, wait_s=10)
        self.server.stop()
        self.scratch.cleanup()

    def ask(self, tool, **arguments):
        return self.server.request("POST", f"/v1/tools/{tool}", json.dumps(arguments), support.JSON)

    def call(self, tool, **arguments):
        answer = self.ask(tool, **arguments)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def spec(self, name="ok", steps=5, ranks=2, **more):
        return {"name": name, "model": str(self.folder / "model"), "data": {"path": str(self.folder / "data.tok"), "format": "tokens", "max_seq_len": 16},
                "output": str(self.folder / "out"), "ranks": ranks, "steps": steps, **more}

    def launch(self, **arguments):
        return self.call("launch_run", **self.spec(**arguments))["run_id"]

    def follow(self, run_id, enough=lambda status: status["state"] in ENDED, seconds=40):
        until = time.time() + seconds
        while time.time() < until:
            status = self.call("run_status", run_id=run_id)
            if enough(status):
                return status
            time.sleep(0.05)
        self.fail(f"still {status}")

    def training(self, run_id, step=2):
        return self.follow(run_id, lambda status: status["step"] >= step and len(status["ranks"]) == 2)

    def log(self, run_id, name="supervisor.log"):
        return (self.folder / "home/runs" / run_id / name).read_text()

    def test_a_run_succeeds_and_is_reviewed(self):
        began = time.time()
        run_id = self.launch(steps=8)
        self.assertLess(time.time() - began, 1)
        status = self.follow(run_id)
        self.assertEqual((status["state"], status["step"], status["steps"]), ("succeeded", 8, 8), self.log(run_id))
        self.assertEqual([(r["rank"], r["alive"], r["ending"]) for r in status["ranks"]], [(0, False, "exit code 0"), (1, False, "exit code 0")])
        review = self.call("review_run", run_id=run_id)
        self.assertIn("loss-fell", [f["rule"] for f in review["findings"]])
        self.assertEqual(review["curves"]["loss"][0], [1, 3.0])
        self.assertEqual(self.call("review_run", path=str(self.folder / "home/runs" / run_id))["state"], "succeeded")

    def test_training_goes_on_when_the_server_is_killed(self):
        run_id = self.launch(steps=40)
        self.training(run_id)
        self.server.stop(signal.SIGKILL)
        self.server = support.Serve(self.folder / "home", port=self.server.port)
        status = self.call("run_status", run_id=run_id)
        self.assertEqual(status["state"], "running")
        self.assertTrue(all(rank["alive"] for rank in status["ranks"]))
        self.assertEqual(self.follow(run_id)["state"], "succeeded", self.log(run_id))

    def test_a_killed_rank_ends_the_others_and_is_named(self):
        run_id = self.launch(steps=600)
        pids = [rank["pid"] for rank in self.training(run_id)["ranks"]]
        began = time.time()
        os.kill(pids[1], signal.SIGKILL)
        status = self.follow(run_id)
        self.assertLess(time.time() - began, 10)
        self.assertEqual((status["state"], status["reason"]), ("failed", "rank 1 was killed by signal 9 (SIGKILL)"))
        self.assertEqual(status["cause"]["root_rank"], 1, status["cause"])
        self.assertFalse(pathlib.Path(f"/proc/{pids[0]}").exists())
        self.assertIn(f"supervisor: rank 1 (pid {pids[1]}) killed by signal 9 (SIGKILL)", self.log(run_id))

    def test_a_rank_that_gives_up_is_quoted(self):
        run_id = self.launch(name="die:1", steps=600)
        status = self.follow(run_id)
        self.assertEqual(status["state"], "failed")
        self.assertEqual(status["reason"], "rank 1 ended with exit code 3: the data ended early (in data)")

    def test_ranks_that_ignore_sigterm_are_killed(self):
        run_id = self.launch(name="deaf:0", steps=600)
        status = self.follow(run_id)
        self.assertEqual(status["state"], "failed")
        self.assertIn("rank 0 ended with exit code 3", status["reason"])
        self.assertIn("rank 1", self.log(run_id))
        self.assertNotIn("SIGKILL", self.log(run_id), "what the supervisor did is no symptom")

    def test_stop_ends_a_run_with_a_checkpoint(self):
        run_id = self.launch(steps=600)
        self.training(run_id)
        status = self.call("stop_run", run_id=run_id, wait_s=15)
        self.assertEqual(status["state"], "stopped", self.log(run_id))
        self.assertEqual(self.call("stop_run", run_id=run_id)["state"], "stopped")

    def test_runs_queue_in_order_and_a_queued_one_can_be_stopped(self):
        first, second, third = (self.launch(steps=30, seed=seed) for seed in (1, 2, 3))
        self.training(first)
        self.assertEqual(self.call("run_status", run_id=second)["state"], "queued")
        self.assertEqual(self.call("stop_run", run_id=second, wait_s=10)["state"], "stopped")
        self.assertEqual(self.follow(first)["state"], "succeeded")
        self.assertEqual(self.follow(third)["state"], "succeeded")
        self.assertGreaterEqual(self.events(third)[0]["time_ms"], self.events(first)[-1]["time_ms"])

    def events(self, run_id):
        return [json.loads(line) for line in self.log(run_id, "events.jsonl").splitlines()]

    def test_a_run_that_must_not_wait_runs_beside_the_other(self):
        first = self.launch(steps=600)
        self.training(first)
        second = self.launch(steps=3, queue=False)
        self.assertEqual(self.follow(second)["state"], "succeeded")
        self.assertEqual(self.call("run_status", run_id=first)["state"], "running")

    def test_the_same_key_gives_the_same_run(self):
        spec = self.spec(steps=3)
        first = self.call("launch_run", **spec, idempotency_key="k1")["run_id"]
        self.assertEqual(self.call("launch_run", **spec, idempotency_key="k1")["run_id"], first)
        self.assertEqual(self.ask("launch_run", **{**spec, "steps": 4}, idempotency_key="k1").status, 409)
        self.assertEqual(len(list((self.folder / "home/runs").iterdir())), 1)

    def test_a_killed_supervisor_takes_its_ranks_along_and_the_run_is_failed(self):
        run_id = self.launch(steps=600)
        pids = [rank["pid"] for rank in self.training(run_id)["ranks"]]
        supervisor = int(self.log(run_id).split("supervisor: pid ")[1].split()[0])
        os.kill(supervisor, signal.SIGKILL)
        status = self.follow(run_id)
        self.assertEqual(status["state"], "failed")
        self.assertIn("supervisor killed", status["reason"])
        self.follow(run_id, lambda _: not any(self.runs_still(pid) for pid in pids))

    @staticmethod
    def runs_still(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def test_mistakes_are_told_by_field_and_nothing_is_started(self):
        answer = self.ask("launch_run", **{**self.spec(), "model": "/no/such/folder", "data": {"path": "/no/such/file"}})
        self.assertEqual(answer.status, 400)
        self.assertIn("model", answer.body.decode())
        self.assertIn("data.path", answer.body.decode())
        self.assertEqual(list((self.folder / "home").glob("runs/*")), [])

    def test_unknown_runs_are_not_found(self):
        for tool in ("run_status", "stop_run", "review_run"):
            self.assertEqual(self.ask(tool, run_id="run-1").status, 404)

    def test_data_that_cannot_be_tokenized_fails_with_its_reason(self):
        spec = self.spec()
        spec["data"]["format"] = "messages"
        run_id = self.call("launch_run", **spec)["run_id"]
        status = self.follow(run_id)
        self.assertEqual(status["state"], "failed")
        self.assertIn("data.path", status["reason"])
        self.assertEqual(status["ranks"], [])


class WithoutEngine(unittest.TestCase):
    def test_launching_says_that_the_engine_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "config.json").write_text("{}")
            spec = {"model": folder, "data": {"path": folder + "/config.json", "format": "tokens"}, "output": folder + "/out", "steps": 1}
            done = support.run("call", "launch_run", "--data", folder + "/home", text=json.dumps(spec), env={"FX_ENGINE": folder + "/none"})
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("FX_ENGINE", json.loads(done.stderr)["error"]["message"])


if __name__ == "__main__":
    unittest.main()
