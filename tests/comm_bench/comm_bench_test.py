"""fsdp-engine bench comm from outside: what it prints, ranks started by itself or by a launcher, and clear errors. No rate is asserted."""
import json
import os
import socket
import subprocess
import unittest

ENGINE = os.environ.get("FX_ENGINE_BINARY", "fsdp-engine")
SMALL = ("--mib", "1", "--repeats", "2")


def call(*arguments, **environment):
    return subprocess.run([ENGINE, "bench", "comm", *arguments], capture_output=True, text=True, timeout=100, env={**os.environ, **environment})


class CommBench(unittest.TestCase):
    def check(self, text, ranks, transports):
        out = json.loads(text)
        self.assertEqual((out["ranks"], out["mib"], out["repeats"]), (ranks, 1, 2))
        seen = {(r["transport"], r["operation"], r.get("reduction"), r["dtype"]) for r in out["results"]}
        self.assertEqual(seen, {(t, o, m, d) for t in transports for d in ("bf16", "fp32")
                                for o, m in (("all_gather", None), ("reduce_scatter", "sum"), ("reduce_scatter", "avg"))})
        for row in out["results"]:
            self.assertGreater(row["gb_per_s"], 0)
            self.assertLessEqual(row["best_ms"], row["median_ms"])

    def test_starts_its_ranks_itself(self):
        done = call(*SMALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(done.stdout, 2, ("shm", "gloo"))
        done = call(*SMALL, "--ranks", "3", "--transport", "shm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(done.stdout, 3, ("shm",))

    def test_is_one_rank_under_a_launcher(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        base = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        ranks = [subprocess.Popen([ENGINE, "bench", "comm", *SMALL, "--transport", "shm"], stdout=subprocess.PIPE, text=True, env={**base, "RANK": str(r)})
                 for r in range(2)]
        first, second = [p.communicate(timeout=100)[0] for p in ranks]
        self.assertEqual([p.returncode for p in ranks], [0, 0])
        self.check(first, 2, ("shm",))
        self.assertEqual(second, "")

    def test_mistakes_are_named(self):
        for arguments, words in ((("--mib", "0"), "--mib"), (("--mib",), "--mib"), (("--ranks", "many"), "--ranks"), (("--speed", "1"), "--speed"),
                                 (("--transport", "pigeon"), "pigeon")):
            done = call(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
