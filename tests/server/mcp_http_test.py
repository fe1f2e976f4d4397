"""MCP over Streamable HTTP, both eras, over real sockets."""
import json
import unittest

from support import JSON, ServerTest


class Handshake(ServerTest):
    def open(self, revision="2025-11-25"):
        answer = self.server.mcp("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json["result"]["protocolVersion"], revision)
        session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": revision}
        ready = self.server.mcp("notifications/initialized", id=None, headers=session)
        self.assertEqual((ready.status, ready.body), (202, b""))
        return session

    def test_a_whole_session(self):
        for revision in ("2025-03-26", "2025-06-18", "2025-11-25"):
            session = self.open(revision)
            self.assertEqual(self.server.mcp("ping", headers=session).json["result"], {})
            tools = self.server.mcp("tools/list", headers=session).json["result"]["tools"]
            self.assertTrue(tools)
            self.assertEqual(tools, self.server.mcp("tools/list", headers=session).json["result"]["tools"])
            called = self.server.mcp("tools/call", {"name": tools[0]["name"], "arguments": {}}, headers=session).json["result"]
            json.loads(called["content"][0]["text"])
            self.assertEqual(self.server.request("DELETE", "/mcp", headers=session).status, 204)
            self.assertEqual(self.server.mcp("tools/list", headers=session).status, 404)

    def test_sessions_are_needed_and_unguessable(self):
        self.assertEqual(self.server.mcp("tools/list").status, 400)
        self.assertEqual(self.server.mcp("tools/list", headers={"Mcp-Session-Id": "0" * 32}).status, 404)
        ids = {self.open()["Mcp-Session-Id"] for _ in range(20)}
        self.assertEqual(len(ids), 20)
        self.assertTrue(all(0x21 <= ord(c) <= 0x7E for one in ids for c in one))

    def test_a_stale_session_can_start_again(self):
        answer = self.server.mcp("initialize", {"protocolVersion": "2025-11-25"}, headers={"Mcp-Session-Id": "stale"})
        self.assertEqual(answer.status, 200)

    def test_no_stream_is_offered(self):
        answer = self.server.request("GET", "/mcp", headers={"Accept": "text/event-stream"})
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST, DELETE"))

    def test_bad_messages(self):
        session = {**JSON, **self.open()}
        for body, code in ((b"{", -32700), (b"\xff", -32700), (b"7", -32600), (b"{}", -32600), (b"[]", -32600)):
            answer = self.server.request("POST", "/mcp", body, session)
            self.assertEqual((answer.status, answer.json["error"]["code"]), (400, code), body)
        self.assertEqual(self.server.mcp("no/such", headers=self.open()).json["error"]["code"], -32601)


class Modern(ServerTest):
    def test_discover_list_call(self):
        found = self.server.mcp("server/discover", modern=True)
        self.assertEqual(found.status, 200)
        self.assertIn("2026-07-28", found.json["result"]["supportedVersions"])
        tools = self.server.mcp("tools/list", modern=True).json["result"]
        self.assertEqual(tools["resultType"], "complete")
        name = tools["tools"][0]["name"]
        called = self.server.mcp("tools/call", {"name": name, "arguments": {}}, modern=True, headers={"Mcp-Name": name})
        self.assertEqual(called.json["result"]["resultType"], "complete")
        self.assertNotIn("Mcp-Session-Id", called.headers)

    def test_headers_must_match(self):
        for headers in ({"Mcp-Method": "tools/call"}, {"MCP-Protocol-Version": "2025-11-25"}, {"MCP-Protocol-Version": "1900-01-01"}):
            answer = self.server.mcp("tools/list", modern=True, headers=headers)
            self.assertEqual((answer.status, answer.json["error"]["code"], answer.json["id"]), (400, -32020, 1), headers)

    def test_unknown_methods_and_versions(self):
        for method in ("ping", "initialize", "resources/subscribe"):
            answer = self.server.mcp(method, modern=True)
            self.assertEqual((answer.status, answer.json["error"]["code"]), (404, -32601), method)
        params = {"_meta": {"io.modelcontextprotocol/protocolVersion": "1900-01-01", "io.modelcontextprotocol/clientCapabilities": {}}}
        answer = self.server.mcp("tools/list", params, headers={"MCP-Protocol-Version": "1900-01-01", "Mcp-Method": "tools/list"})
        self.assertEqual((answer.status, answer.json["error"]["code"]), (400, -32022))
        self.assertEqual(answer.json["error"]["data"]["requested"], "1900-01-01")


if __name__ == "__main__":
    unittest.main()
