"""GET /sse and POST /message, the transport of MCP's first version: its exact frames, the official clients that speak it, and
attacks on its sessions."""
import json
import re

import mcp_http_test
import mcp_test
import serving
from event_stream import EventStream
from mcp_client import legacy
from traces import await_true

HELLO = legacy(0, "initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo={"name": "test", "version": "1"})
MOST_SESSIONS = 64


def served(box, *flags):
    return serving.Server(["--workspace", str(box.path), "--mode", "shell", *flags])


class Session:
    """An open stream with its path for messages."""

    def __init__(self, server, headers=None):
        self.server, self.headers = server, headers or {}
        self.stream = EventStream(server.port, "GET", "/sse", headers)
        assert self.stream.status == 200, self.stream.status
        event = self.stream.take()
        assert event["event"] == "endpoint", event
        self.path = event["data"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()

    def post(self, message, path=None, headers=None):
        body = message if isinstance(message, str) else json.dumps(message)
        fields = {"Content-Type": "application/json"} | self.headers | (headers or {})
        return self.server.ask({"path": path or self.path, "body": body, "headers": fields})

    def send(self, message):
        answer = self.post(message)
        assert (answer.status, answer.body) == (202, b""), answer

    def ask(self, message):
        self.send(message)
        return self.stream.message()

    def call(self, number, name, **arguments):
        return self.ask(legacy(number, "tools/call", name=name, arguments=arguments))


def test_the_frames_are_those_of_the_first_version(box):
    with served(box) as server, Session(server) as session:
        first = session.stream.raw
        assert re.fullmatch(rb"event: endpoint\ndata: /message\?sessionId=[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                            rb"[0-9a-f]{12}\r\n\r\n", first), first
        assert session.stream.headers["content-type"] == "text/event-stream", session.stream.headers
        assert "no-cache" in session.stream.headers["cache-control"], session.stream.headers
        assert "access-control-allow-origin" not in session.stream.headers, session.stream.headers
        answer = session.ask(HELLO)
        assert answer["result"]["protocolVersion"] == "2024-11-05", answer
        rest = session.stream.raw[len(first):].decode()
        assert rest == f"event: message\ndata: {json.dumps(answer, separators=(',', ':'))}\n\n", rest


def test_tools_are_called_and_calls_run_beside_each_other(box):
    with served(box) as server, Session(server) as session:
        session.ask(HELLO)
        session.send(legacy(1, "tools/call", name="Bash", arguments={"command": "sleep 30"}))
        written = session.call(2, "Write", file_path="a.txt", content="hello\n")
        assert written["id"] == 2 and not written["result"]["isError"], written
        read = session.call(3, "Read", file_path="a.txt")
        assert "hello" in read["result"]["content"][0]["text"], read
        session.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert session.ask(legacy(4, "ping")) == {"jsonrpc": "2.0", "id": 4, "result": {}}


def test_a_client_that_goes_away_cancels_its_calls(box):
    marker = box.path / "running"
    with served(box) as server:
        with Session(server) as session:
            session.ask(HELLO)
            command = "echo $$ > running; exec sleep 300"
            session.send(legacy(1, "tools/call", name="Bash", arguments={"command": command, "timeout": 400}))
            await_true(marker.exists, "the command does not start")
        with Session(server) as session:
            session.ask(HELLO)

            def is_gone():
                found = session.call(2, "Bash", command="pgrep -f 'sleep 30[0]' || echo gone", soft_timeout=20)
                return "gone" in found["result"]["content"][0]["text"]

            await_true(is_gone, "the command goes on")


def test_no_reply_is_dropped_for_a_client_that_reads_late(box):
    box.write("big.txt", "x" * 20000 + "\n")
    with served(box) as server, Session(server) as session:
        session.ask(HELLO)
        for number in range(1, 201):
            session.send(legacy(number, "tools/call", name="Read", arguments={"file_path": "big.txt"}))
        answers = [session.stream.message() for _ in range(200)]
        assert sorted(answer["id"] for answer in answers) == list(range(1, 201)), answers[-1]
        assert all("result" in answer for answer in answers), [answer for answer in answers if "error" in answer][:1]


def test_each_mistake_has_its_answer(box):
    with served(box) as server, Session(server) as session:
        rows = [
            (session.post(HELLO, path="/message"), -32602, "Missing sessionId"),
            (session.post(HELLO, path="/message?sessionId="), -32602, "Missing sessionId"),
            (session.post(HELLO, path="/message?sessionId=" + "0" * 36), -32602, "Invalid session ID"),
            (session.post(HELLO, path=session.path + "0"), -32602, "Invalid session ID"),
            (session.post("{"), -32700, "Parse error"),
        ]
        for answer, code, message in rows:
            error = answer.json()["error"]
            assert (answer.status, error["code"], error["message"]) == (400, code, message), answer
        refused = server.ask({"method": "GET", "path": session.path})
        assert (refused.status, refused.json()["error"]["message"]) == (405, "Method not allowed"), refused
        refused = server.ask({"method": "POST", "path": "/sse", "body": "{}"})
        assert (refused.status, refused.headers["Content-Type"]) == (405, "text/plain"), refused
        # A session takes messages of any content type, as servers of this transport always did.
        assert session.post(HELLO, headers={"Content-Type": "text/plain"}).status == 202
        assert session.stream.message()["id"] == 0


def test_a_session_belongs_to_its_token(box):
    token = box.write("tokens", "1" * 16 + "\n" + "2" * 16 + "\n")
    one, two = ({"Authorization": f"Bearer {digit * 16}"} for digit in "12")
    with served(box, "--token-file", str(token)) as server, Session(server, one) as session:
        assert session.ask(HELLO)["id"] == 0
        stolen = session.post(HELLO, headers=two)
        assert (stolen.status, stolen.json()["error"]["message"]) == (400, "Invalid session ID"), stolen
        assert server.ask({"method": "GET", "path": "/sse"}).status == 401
        assert session.ask(legacy(1, "ping"))["id"] == 1


def test_sessions_are_bounded_and_end_with_their_streams(box):
    with served(box) as server:
        open_sessions = [Session(server) for _ in range(MOST_SESSIONS)]
        try:
            refused = server.ask({"method": "GET", "path": "/sse"})
            assert (refused.status, refused.json()["error"]["code"]) == (503, -32000), refused
            open_sessions.pop().stream.close()

            def there_is_room():
                with EventStream(server.port, "GET", "/sse") as stream:
                    return stream.status == 200

            await_true(there_is_room, "the ended session still counts")
            assert open_sessions[0].ask(HELLO)["id"] == 0
        finally:
            for session in open_sessions:
                session.stream.close()


def test_a_server_with_open_streams_ends_soon_and_with_success(box):
    server = served(box)
    session = Session(server)
    session.ask(HELLO)
    server.stop()
    assert session.stream.take() is None
    session.stream.close()


def sse_url(url):
    return url.removesuffix("/mcp") + "/sse"


def test_the_official_clients_call_tools_over_sse(box):
    with mcp_http_test.sample_url(box) as url:
        seen = mcp_test.run_client(box, [*mcp_test.python_client(box), "legacy", sse_url(url)])
        mcp_test.check_what_was_seen(mcp_http_test.over_http(seen))
        seen = mcp_test.run_client(box, mcp_test.typescript_client(box, "sdk", "legacy", sse_url(url)))
        assert seen["errors"] == [], seen["errors"]
        mcp_test.check_what_was_seen(mcp_http_test.over_http(seen))


def test_the_inspector_calls_tools_over_sse(box):
    with mcp_http_test.sample_url(box) as url:
        done = mcp_test.inspect(box, "--method", "tools/call", "--tool-name", "echo", "--tool-args-json", '{"text":"hi"}',
                                server=["--transport", "sse", "--server-url", sse_url(url)])
        assert done.returncode == 0, done
        assert json.loads(done.stdout)["result"]["structuredContent"]["text"] == "hi", done.stdout
