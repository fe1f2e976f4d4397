"""What the end-to-end tests of the server share: the real program as a child process. Standard library only."""
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

BINARY = pathlib.Path(os.environ["FSDP_EXPERT"])
JSON = {"Content-Type": "application/json"}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}


def start(*arguments, **options):
    return subprocess.Popen([BINARY, *map(str, arguments)], text=True, **options)


def run(*arguments, text="", env=None):
    """The finished command: returncode, stdout, stderr."""
    return subprocess.run([BINARY, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=20,
                          env=None if env is None else {**os.environ, **env})


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = dict(response.getheaders())
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


class Serve:
    """`fsdp-expert serve` on a free port."""

    def __init__(self, data, *arguments, port=0):
        self.process = start("serve", "--port", port, "--data", data, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.ready_line = self.process.stdout.readline()
        found = re.search(r"http://[^ ]+:(\d+)", self.ready_line)
        if not found:
            raise RuntimeError(self.process.communicate()[1])
        self.port = int(found.group(1))

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def mcp(self, method, params=None, id=1, headers=None, modern=False):
        params = dict(params or {})
        headers = {**JSON, **(headers or {})}
        if modern:
            params["_meta"] = META
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **headers}
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if id is not None:
            message["id"] = id
        return self.request("POST", "/mcp", json.dumps(message), headers)

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(10)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


class ServerTest(unittest.TestCase):
    """One server for all tests of a class."""
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Serve(cls.folder.name, *cls.arguments)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()
