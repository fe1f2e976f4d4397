"""MCP over standard input and output: only messages on the output, every request answered, no orphan left."""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import BINARY, META, start


class Stdio(unittest.TestCase):
    def setUp(self, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.process = start("stdio", "--data", self.folder.name, *options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def tearDown(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        try:
            self.process.stdin.close()
        except BrokenPipeError:  # unsent text for a process that has ended
            pass
        self.process.stdout.close()
        self.folder.cleanup()

    def send(self, *messages):
        for message in messages:
            self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params=None, id=1):
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        return json.loads(self.process.stdout.readline())

    def test_both_eras_in_one_process(self):
        self.assertEqual(self.ask("server/discover", {"_meta": META})["result"]["resultType"], "complete")
        self.assertEqual(self.ask("initialize", {"protocolVersion": "2025-06-18"})["result"]["protocolVersion"], "2025-06-18")
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = self.ask("tools/list")["result"]["tools"]
        self.assertEqual(self.ask("tools/list", {"_meta": META})["result"]["tools"], tools)
        answer = self.ask("tools/call", {"name": tools[0]["name"], "arguments": {}}, id="call")
        self.assertEqual(answer["id"], "call")
        json.loads(answer["result"]["content"][0]["text"])

    def test_lean_offers_one_tool_that_reaches_all(self):
        self.tearDown()
        self.setUp("--lean")
        tools = self.ask("tools/list")["result"]["tools"]
        self.assertEqual([tool["name"] for tool in tools], ["fsdp"])
        call = lambda **arguments: json.loads(self.ask("tools/call", {"name": "fsdp", "arguments": arguments})["result"]["content"][0]["text"])
        self.assertIn("validate_config", call(op="help")["operations"])
        found = call(op="validate_config", args={"text": "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 3\n"})
        self.assertTrue(found["applicable"] and found["findings"], found)

    def test_all_calls_are_answered_before_the_end(self):
        tool = self.ask("tools/list")["result"]["tools"][0]["name"]
        calls = [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": tool, "arguments": {}}} for i in range(200)]
        self.send(*calls)
        out, _ = self.process.communicate(timeout=20)
        self.assertEqual(sorted(json.loads(line)["id"] for line in out.splitlines()), list(range(200)))
        self.assertEqual(self.process.returncode, 0)

    def test_junk_gets_errors_and_nothing_else(self):
        generator = random.Random(3)
        junk = ["{", "7", "null", "[]", '{"jsonrpc":"2.0","id":null,"method":"ping"}', "[" * 5000, '"\\ud800"']
        junk += ["".join(chr(generator.choice([*range(1, 10), *range(11, 256)])) for _ in range(200)) for _ in range(20)]
        for line in junk:
            self.send(line)
            error = json.loads(self.process.stdout.readline())["error"]
            self.assertIn(error["code"], (-32700, -32600), line[:40])
        self.assertEqual(self.ask("ping")["result"], {})

    def test_a_message_over_the_limit_is_refused(self):
        self.send('{"jsonrpc":"2.0","id":1,"method":"' + "x" * (5 << 20) + '"}')
        self.assertIn("4 MiB", json.loads(self.process.stdout.readline())["error"]["message"])
        self.assertEqual(self.ask("ping")["result"], {})

    def test_it_ends_with_its_input(self):
        self.assertEqual(self.ask("ping")["result"], {})
        self.process.stdin.close()
        self.assertEqual(self.process.wait(5), 0)

    def test_it_ends_when_nobody_reads(self):
        self.process.stdout.close()
        try:
            for i in range(50):
                self.send({"jsonrpc": "2.0", "id": i, "method": "tools/list"})
                time.sleep(0.01)
        except BrokenPipeError:
            pass
        self.assertEqual(self.process.wait(5), 0)
        self.process.stdout = open(os.devnull)


class Orphan(unittest.TestCase):
    def test_it_ends_with_its_parent_though_its_input_stays_open(self):
        read, write = os.pipe()
        parent = subprocess.Popen(
            [sys.executable, "-c", "import subprocess, sys, time\n"
             "p = subprocess.Popen([sys.argv[1], 'stdio'], stdin=int(sys.argv[2]), stdout=subprocess.DEVNULL)\n"
             "print(p.pid, flush=True)\ntime.sleep(60)", BINARY, str(read)],
            stdout=subprocess.PIPE, text=True, pass_fds=[read, write])
        child = int(parent.stdout.readline())
        time.sleep(0.2)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
        for _ in range(50):
            if not alive(child):
                break
            time.sleep(0.1)
        os.close(read)
        os.close(write)
        self.assertFalse(alive(child))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
