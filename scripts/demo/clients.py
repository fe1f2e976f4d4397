"""What an agent uses to reach the server: plain HTTP and MCP over stdio. Standard library only."""
import json
import pathlib
import re
import subprocess
import urllib.error
import urllib.request


class ToolError(RuntimeError):
    """The server refused the call; the text is its own explanation."""


class Server:
    """`fsdp-expert serve` as a child process on a free port."""

    def __init__(self, binary: pathlib.Path, data: pathlib.Path, log: pathlib.Path):
        self.log = open(log, "ab")
        self.process = subprocess.Popen([binary, "serve", "--port", "0", "--data", data], stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://[0-9.]+:\d+", line)
        if not found:
            raise ToolError(f"the server did not start: {line.strip() or 'see ' + str(log)}")
        self.url = found.group(0)

    def call(self, tool: str, timeout: float = 60, **arguments):
        request = urllib.request.Request(f"{self.url}/v1/tools/{tool}", data=json.dumps(arguments).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            problem = json.loads(error.read() or b"{}")
            raise ToolError(f"{tool}: {problem.get('detail') or problem.get('title') or error}") from None

    def close(self):
        self.process.terminate()
        self.process.wait(10)
        self.log.close()


class Stdio:
    """`fsdp-expert stdio`: one JSON-RPC message a line."""

    def __init__(self, binary: pathlib.Path, data: pathlib.Path, log: pathlib.Path):
        self.log = open(log, "ab")
        self.process = subprocess.Popen([binary, "stdio", "--data", data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.next_id = 0
        self.server = self.request("initialize", protocolVersion="2025-11-25", capabilities={},
                                   clientInfo={"name": "demo-agent", "version": "1"})["serverInfo"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, **params):
        self.next_id += 1
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise ToolError("the MCP server ended")
            message = json.loads(line)
            if message.get("id") == self.next_id:
                if "error" in message:
                    raise ToolError(message["error"]["message"])
                return message["result"]

    def call(self, tool: str, **arguments):
        result = self.request("tools/call", name=tool, arguments=arguments)
        text = "".join(part.get("text", "") for part in result["content"])
        if result.get("isError"):
            raise ToolError(f"{tool}: {text}")
        return json.loads(text)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.log.close()
