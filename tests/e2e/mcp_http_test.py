"""MCP over HTTP: `polybox serve --workspace`, and the official clients. Calls of tools use a server with the sample tools of
src/tools/testing/sample_tools.h, which has the door of polybox and no other."""
import contextlib
import json
import subprocess

import mcp_test
import serving
from mcp_client import MODERN, legacy, request


@contextlib.contextmanager
def sample_url(box):
    """The address of the server with the sample tools, beside the binary under test."""
    program = box.binary.resolve().parents[2] / "src/http/mcp_sample_http"
    process = subprocess.Popen([program], env=box.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    try:
        yield f"http://{process.stdout.readline().strip()}/mcp"
    finally:
        process.stdin.close()
        code = process.wait(20)
        process.stdout.close()
    assert code == 0, code


def post(server, message, **headers):
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.ask({"method": "POST", "path": "/mcp", "json": message, "headers": fields})


def modern(server, message, **headers):
    """A request of 2026-07-28 with its headers; others replace them."""
    fields = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": message["method"]}
    return post(server, message, **(fields | headers))


def test_the_server_offers_mcp_beside_its_other_doors(box):
    with serving.Server(["--workspace", str(box.path)]) as server:
        found = modern(server, request(1, "server/discover"))
        assert found.status == 200 and found.json()["result"]["supportedVersions"][0] == "2026-07-28", found
        tools = modern(server, request(2, "tools/list")).json()["result"]["tools"]
        assert [tool["name"] for tool in tools] == sorted(tool["name"] for tool in tools), tools
        hello = legacy(1, "initialize", protocolVersion="2025-06-18", capabilities={})
        first = post(server, hello)
        assert first.json()["result"]["protocolVersion"] == "2025-06-18", first
        assert "Mcp-Session-Id" in first.headers and "Mcp-Session-Id" not in found.headers, first
        # A client that ignores the session is answered all the same.
        listed = post(server, legacy(2, "tools/list"), MCP_Protocol_Version="2025-06-18").json()
        assert [tool["name"] for tool in listed["result"]["tools"]] == [tool["name"] for tool in tools]
        assert server.execute("print(1)", language="python")["stdout"] == "1\n"


def test_each_error_has_its_status(box):
    with serving.Server(["--workspace", str(box.path)]) as server:
        listing = request(1, "tools/list")
        unknown = {"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                   "params": {"_meta": MODERN | {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}}}
        rows = [
            (modern(server, listing, Mcp_Method="tools/call"), 400, -32020),
            (post(server, listing), 400, -32020),
            (modern(server, unknown, MCP_Protocol_Version="1900-01-01"), 400, -32022),
            (modern(server, request(1, "nothing")), 404, -32601),
            (post(server, legacy(1, "tools/list"), MCP_Protocol_Version="2026-07-28"), 400, -32602),
            (server.ask({"path": "/mcp", "body": "{", "headers": {"Content-Type": "application/json"}}), 400, -32700),
            (server.ask({"path": "/mcp", "body": "{}"}), 415, -32600),
            (server.ask({"method": "GET", "path": "/mcp"}), 405, -32600),
            (server.ask({"method": "DELETE", "path": "/mcp"}), 405, -32600),
            (modern(server, listing, Origin="https://evil.example"), 403, -32600),
            (modern(server, listing, Host="evil.example"), 403, -32600),
        ]
        for answer, status, code in rows:
            assert (answer.status, answer.json()["error"]["code"]) == (status, code), answer


def test_without_a_workspace_there_is_no_mcp(box):
    with serving.Server() as server:
        assert modern(server, request(1, "tools/list")).status == 404


def test_tokens_are_asked_for(box):
    token = box.write("token", "0123456789abcdef\n")
    with serving.Server(["--workspace", str(box.path), "--token-file", str(token)]) as server:
        refused = modern(server, request(1, "tools/list"))
        assert (refused.status, refused.json()["error"]["code"]) == (401, -32600), refused
        assert modern(server, request(1, "tools/list"), Authorization="Bearer 0123456789abcdef").status == 200


def test_the_official_python_client_calls_tools_over_http(box):
    with sample_url(box) as url:
        for mode in ("legacy", "auto", "2026-07-28"):
            mcp_test.check_what_was_seen(over_http(mcp_test.run_client(box, [*mcp_test.python_client(box), mode, url])))


def over_http(seen):
    """The principal of an HTTP client without a token is its address."""
    assert seen["echo"]["structuredContent"].pop("principal") == "127.0.0.1", seen["echo"]
    seen["echo"]["structuredContent"]["principal"] = "stdio"
    return seen


def test_the_typescript_clients_call_tools_over_http(box):
    with sample_url(box) as url:
        for library, mode in (("sdk", "legacy"), ("client", "legacy"), ("client", "auto"), ("client", "2026-07-28")):
            seen = mcp_test.run_client(box, mcp_test.typescript_client(box, library, mode, url))
            assert seen["errors"] == [], (library, mode, seen["errors"])
            mcp_test.check_what_was_seen(over_http(seen))


def test_the_inspector_calls_tools_over_http(box):
    with sample_url(box) as url:
        done = mcp_test.inspect(box, "--method", "tools/call", "--tool-name", "echo", "--tool-args-json", '{"text":"hi"}',
                                server=["--transport", "http", "--server-url", url])
        assert done.returncode == 0, done
        assert json.loads(done.stdout)["result"]["structuredContent"]["text"] == "hi", done.stdout


def test_a_session_begins_with_initialize_and_ends_with_delete(box):
    with serving.Server(["--workspace", str(box.path), "--mode", "shell"]) as server:
        hello = legacy(1, "initialize", protocolVersion="2025-11-25", capabilities={})
        own = {"Mcp_Session_Id": post(server, hello).headers["Mcp-Session-Id"], "MCP_Protocol_Version": "2025-11-25"}
        assert post(server, legacy(2, "logging/setLevel", level="debug"), **own).json()["result"] == {}
        refused = server.ask({"method": "GET", "path": "/mcp", "headers": {"Mcp-Session-Id": own["Mcp_Session_Id"], "Accept": "a/b"}})
        assert refused.status == 406, refused
        stranger = post(server, legacy(3, "tools/list"), **(own | {"Mcp_Session_Id": "0" * 36}))
        assert (stranger.status, stranger.json()["error"]["code"]) == (404, -32600), stranger
        ended = server.ask({"method": "DELETE", "path": "/mcp", "headers": {"Mcp-Session-Id": own["Mcp_Session_Id"]}})
        assert ended.status == 204, ended
        assert post(server, legacy(4, "tools/list"), **own).status == 404


def test_a_session_belongs_to_its_token(box):
    token = box.write("tokens", "1" * 16 + "\n" + "2" * 16 + "\n")
    with serving.Server(["--workspace", str(box.path), "--mode", "shell", "--token-file", str(token)]) as server:
        hello = legacy(1, "initialize", protocolVersion="2025-11-25", capabilities={})
        one, two = ({"Authorization": f"Bearer {digit * 16}"} for digit in "12")
        own = {"Mcp_Session_Id": post(server, hello, **one).headers["Mcp-Session-Id"], "MCP_Protocol_Version": "2025-11-25"}
        assert post(server, legacy(2, "tools/list"), **(own | one)).status == 200
        assert post(server, legacy(2, "tools/list"), **(own | two)).status == 404
        for method in ("GET", "DELETE"):
            stolen = server.ask({"method": method, "path": "/mcp", "headers": two | {"Mcp-Session-Id": own["Mcp_Session_Id"]}})
            assert stolen.status == 404, stolen
        assert post(server, legacy(3, "tools/list"), **(own | one)).status == 200
