"""REST over real sockets: answers, problems, limits, access."""
import json
import random
import socket
import unittest

from support import JSON, ServerTest


class Rest(ServerTest):
    def test_every_tool_answers_an_empty_object_without_a_fault_of_ours(self):
        tools = self.server.request("GET", "/v1/tools").json["tools"]
        self.assertTrue(tools)
        for tool in tools:
            answer = self.server.request("POST", f"/v1/tools/{tool['name']}", "{}", JSON)
            self.assertNotEqual(answer.status, 500, tool["name"])
            if answer.status != 200:
                self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
                self.assertEqual(answer.json["status"], answer.status)

    def test_every_tool_survives_junk_values(self):
        values = [None, True, -1, 1e308, "", "\x00\u202e\ufeff", [], {}, [[[[]]]], {"a": {"b": []}}, "x" * 100000]
        for tool in self.server.request("GET", "/v1/tools").json["tools"]:
            for name in tool["inputSchema"].get("properties", {}):
                for value in values:
                    answer = self.server.request("POST", f"/v1/tools/{tool['name']}", json.dumps({name: value}), JSON)
                    self.assertNotEqual(answer.status, 500, (tool["name"], name, repr(value)[:60], answer.body[:200]))

    def test_unknown_tools_paths_and_methods(self):
        self.assertEqual(self.server.request("POST", "/v1/tools/nothing", "{}", JSON).status, 404)
        self.assertEqual(self.server.request("GET", "/nothing").status, 404)
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            answer = self.server.request(method, "/v1/tools")
            self.assertEqual((answer.status, answer.headers["Allow"]), (405, "GET, HEAD"), method)

    def test_bodies_that_are_not_json(self):
        path = "/v1/tools/" + self.server.request("GET", "/v1/tools").json["tools"][0]["name"]
        self.assertEqual(self.server.request("POST", path, "{}", {"Content-Type": "text/plain"}).status, 415)
        generator = random.Random(7)
        for body in [b"", b"{", b"\xff\xfe{}", b"[]", b"null", b"NaN", b"[" * 100000, b'{"a":1e999}', generator.randbytes(5000)]:
            answer = self.server.request("POST", path, body, JSON)
            self.assertEqual(answer.status, 400, body[:20])
            self.assertIn("detail", answer.json)

    def test_bodies_over_the_limit(self):
        path = "/v1/tools/" + self.server.request("GET", "/v1/tools").json["tools"][0]["name"]
        answer = self.server.request("POST", path, b" " * ((4 << 20) + 1), JSON)
        self.assertEqual(answer.status, 413)
        self.assertEqual(answer.json["code"], "too_large")
        self.assertEqual(self.server.request("POST", path, iter([b" " * (1 << 20)] * 5), JSON).status, 413)  # chunked

    def test_foreign_hosts_and_origins_are_refused_before_the_body_is_read(self):
        for headers in ({"Host": "evil.example"}, {"Origin": "null"}, {"Origin": "http://evil.example"}):
            for path in ("/healthz", "/mcp", "/v1/tools/x", "/nothing"):
                self.assertEqual(self.server.request("POST", path, "{", {**JSON, **headers}).status, 403, (path, headers))
        self.assertEqual(self.server.request("GET", "/healthz", headers={"Origin": "http://localhost:5678"}).status, 200)

    def test_health_and_openapi(self):
        self.assertEqual(self.server.request("GET", "/healthz").json, {"status": "ok"})
        self.assertEqual(self.server.request("GET", "/readyz").status, 200)
        head = self.server.request("HEAD", "/healthz")
        self.assertEqual((head.status, head.body), (200, b""))
        document = self.server.request("GET", "/openapi.json").json
        names = [tool["name"] for tool in self.server.request("GET", "/v1/tools").json["tools"]]
        self.assertEqual({f"/v1/tools/{name}" for name in names}, {p for p in document["paths"] if p.startswith("/v1/tools/")})

    def test_bytes_that_are_not_http(self):
        generator = random.Random(11)
        junk = [generator.randbytes(2000), b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01" + b"\x00" * 200,
                b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
                b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"]
        for data in junk:
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=15) as connection:
                try:
                    connection.sendall(data)
                    connection.shutdown(socket.SHUT_WR)
                    first = connection.recv(65536)
                except ConnectionError:
                    continue
                self.assertFalse(first.startswith(b"HTTP/1.1 2"), data[:60])
        self.assertEqual(self.server.request("GET", "/healthz").status, 200)


class Token(ServerTest):
    @classmethod
    def setUpClass(cls):
        import tempfile
        cls.token = tempfile.NamedTemporaryFile("w", suffix=".token")
        cls.token.write("a-long-test-token\n")
        cls.token.flush()
        cls.arguments = ("--token-file", cls.token.name)
        super().setUpClass()

    def test_only_the_token_opens(self):
        self.assertEqual(self.server.request("GET", "/v1/tools").status, 401)
        self.assertEqual(self.server.request("GET", "/v1/tools", headers={"Authorization": "Bearer wrong"}).status, 401)
        right = self.server.request("GET", "/v1/tools", headers={"Authorization": "Bearer a-long-test-token"})
        self.assertEqual(right.status, 200)
        self.assertEqual(self.server.request("GET", "/healthz").status, 200)


if __name__ == "__main__":
    unittest.main()
