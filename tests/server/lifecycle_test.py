"""Starting, stopping, being killed; and the command line's exit codes."""
import json
import os
import pathlib
import signal
import socket
import tempfile
import threading
import unittest

from support import JSON, Serve, run

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Lifecycle(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def test_sigterm_and_sigint_end_it_cleanly(self):
        for how in (signal.SIGTERM, signal.SIGINT):
            server = Serve(self.folder.name)
            self.assertEqual(server.request("GET", "/healthz").status, 200)
            self.assertEqual(server.stop(how), 0)

    def test_sigterm_ends_it_with_an_idle_connection_open(self):
        server = Serve(self.folder.name)
        with socket.create_connection(("127.0.0.1", server.port)):
            self.assertEqual(server.stop(), 0)

    def test_it_starts_again_on_the_same_port_after_kill_9(self):
        server = Serve(self.folder.name)
        tools = server.request("GET", "/v1/tools").json
        self.assertEqual(server.stop(signal.SIGKILL), -signal.SIGKILL)
        again = Serve(self.folder.name, port=server.port)
        self.assertEqual(again.request("GET", "/v1/tools").json, tools)
        self.assertEqual(again.mcp("tools/list", headers={"Mcp-Session-Id": "of-the-killed-one"}).status, 404)
        again.stop()

    def test_a_taken_port_is_one_clear_sentence(self):
        server = Serve(self.folder.name)
        second = run("serve", "--port", server.port, "--data", self.folder.name)
        server.stop()
        self.assertNotEqual(second.returncode, 0)
        self.assertEqual(len(second.stderr.strip().splitlines()), 1)
        self.assertIn("in use", second.stderr)

    def test_other_machines_need_a_token(self):
        refused = run("serve", "--host", "0.0.0.0", "--port", 0, "--data", self.folder.name)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--token-file", refused.stderr)

    def test_many_clients_at_once(self):
        server = Serve(self.folder.name)
        seen = []
        threads = [threading.Thread(target=lambda: seen.append(server.request("GET", "/v1/tools").status)) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.stop()
        self.assertEqual(seen, [200] * 64)


class CommandLine(unittest.TestCase):
    def test_call_exit_codes(self):
        unknown = run("call", "nothing", text="{}")
        self.assertEqual(unknown.returncode, 2)
        self.assertEqual(json.loads(unknown.stderr)["error"]["code"], "not_found")
        name = json.loads(run("tools").stdout)["tools"][0]["name"]
        for text in ("{", "[]", "", "\x00"):
            answer = run("call", name, text=text)
            self.assertEqual((answer.returncode, answer.stdout), (2, ""), text)
            self.assertIn("message", json.loads(answer.stderr)["error"])
        missing = run("call", name, "/nonexistent/arguments.json")
        self.assertEqual(missing.returncode, 2)
        self.assertEqual(json.loads(missing.stderr)["error"]["field"], "/nonexistent/arguments.json")

    def test_wrong_usage_is_exit_2(self):
        for arguments in ((), ("nothing",), ("call",), ("serve", "--port", "x"), ("tools", "--format", "yaml")):
            self.assertEqual(run(*arguments).returncode, 2, arguments)

    def test_tool_lists_agree(self):
        mcp = json.loads(run("tools", "--format", "mcp").stdout)["tools"]
        openai = json.loads(run("tools", "--format", "openai").stdout)
        openapi = json.loads(run("tools", "--format", "openapi").stdout)
        names = [tool["name"] for tool in mcp]
        self.assertEqual(names, [row["function"]["name"] for row in openai])
        for tool in mcp:
            body = openapi["paths"]["/v1/tools/" + tool["name"]]["post"]["requestBody"]
            self.assertEqual(body["content"]["application/json"]["schema"], tool["inputSchema"])

    def test_validate_is_a_linter(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "wrong.yaml"
            config.write_text("distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 1\n  fsdp_sharding_strategy: FULL\nnum_processes: 8\n")
            text = run("validate", config)
            self.assertEqual(text.returncode, 1, text.stderr)
            self.assertRegex(text.stdout, r"(?m)^.*wrong\.yaml:4:\d+: error: .+ \[[a-z0-9-]+\]$")
            sarif = json.loads(run("validate", "--format", "sarif", config).stdout)
        self.assertEqual(sarif["version"], "2.1.0")
        self.assertEqual({r["ruleId"] for r in sarif["runs"][0]["results"]}, {r["id"] for r in sarif["runs"][0]["tool"]["driver"]["rules"]})
        self.assertEqual(run("validate", ROOT / "scripts/demo/accelerate_corrected.yaml").returncode, 0)
        self.assertEqual(run("validate", "/nonexistent.yaml").returncode, 2)

    def test_diagnose_reads_log_files(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "rank_0.log")
            with open(log, "wb") as file:
                file.write(b"step 1\n\xff\xfe\x00 all fine\n")
            answer = run("diagnose", "--json", log)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertNotEqual(json.loads(answer.stdout)["verdict"], "failure")


if __name__ == "__main__":
    unittest.main()
