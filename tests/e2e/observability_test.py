"""What a server tells about calls of tools: metrics, the audit log, and spans that a local collector gets."""
import contextlib
import http.server
import json
import pathlib
import re
import threading

import serving
from mcp_client import Server, request
from shell_tools_test import agent
from traces import await_true

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
# A text that must be in no metric, audit line or span.
CONTENT = "c0ntent-of-the-user-4711"


class Collector:
    """Takes spans by OTLP over HTTP."""

    def __init__(self):
        bodies = self.bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json", self.path
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def spans(self):
        return [span for body in list(self.bodies) for resource in json.loads(body)["resourceSpans"]
                for scope in resource["scopeSpans"] for span in scope["spans"]]


def attributes(span):
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def call(number, name, meta=None, **arguments):
    return request(number, "tools/call", meta=meta, name=name, arguments=arguments)


def post(server, message, **headers):
    fields = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": message["method"], "Mcp-Name": message["params"]["name"]}
    return server.ask({"path": "/mcp", "json": message, "headers": fields | headers}).json()["result"]


@contextlib.contextmanager
def served(box, *flags):
    work = box.write("work/a.txt", f"{CONTENT}\n").parent
    with serving.Server(["--workspace", str(work), *flags]) as server:
        yield server


def test_every_call_has_a_span_that_continues_the_trace_of_the_client(box):
    box.write("a.txt", f"{CONTENT}\n")
    with Collector() as collector:
        with Server([box.binary, "mcp", "--workspace", box.path, "--otlp-endpoint", collector.url], env=box.env(),
                    cwd=box.path) as server:
            server.ask(call(1, "Read", meta={"traceparent": PARENT, "tracestate": "vendor=1"}, file_path="a.txt"))
            server.ask(call("two", "Read", file_path=f"{CONTENT}.txt"))
            server.ask(call(3, "Read", meta={"traceparent": PARENT[:-1] + "0"}, file_path="a.txt"))
            assert server.end() == (0, [])
        # The end has sent what was left.
        spans = collector.spans()
        body = "".join(collector.bodies)
    assert [span["name"] for span in spans] == ["tool.Read", "tool.Read"], spans
    first, second = spans
    assert (first["traceId"], first["parentSpanId"], first["traceState"]) == (TRACE, SPAN, "vendor=1"), first
    assert "parentSpanId" not in second and second["traceId"] != TRACE, second
    assert attributes(first).items() >= {
        "tool.name": "Read", "tool.status": "ok", "gen_ai.tool.name": "Read", "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28", "jsonrpc.request.id": "1"}.items(), first
    assert attributes(second).items() >= {"tool.status": "error", "error.type": "tool_error",
                                          "jsonrpc.request.id": '"two"'}.items(), second
    assert first["status"] == {"code": 1} and second["status"] == {"code": 2}
    assert 0 <= int(first["endTimeUnixNano"]) - int(first["startTimeUnixNano"]) < 60e9, first
    assert CONTENT not in body and str(box.path) not in body, body


def test_the_trace_of_the_header_counts_over_http(box):
    with Collector() as collector, served(box, "--otlp-endpoint", collector.url) as server:
        post(server, call(1, "Read", file_path="a.txt"), traceparent=PARENT)
        other = PARENT.replace("0af7", "1bf8")
        post(server, call(2, "Read", meta={"traceparent": other}, file_path="a.txt"), traceparent=PARENT)
        await_true(lambda: len(collector.spans()) == 2, "spans are missing")
        assert [span["traceId"] for span in collector.spans()] == [TRACE, TRACE.replace("0af7", "1bf8")]


def test_a_collector_that_is_away_delays_nothing_and_a_bad_address_is_refused(box):
    with Server([box.binary, "mcp", "--workspace", box.path], env=box.env({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}),
                cwd=box.path) as server:
        box.write("a.txt", "x\n")
        for number in range(20):
            assert server.ask(call(number, "Read", file_path="a.txt"))["result"]["isError"] is False
        assert server.end() == (0, [])
    done = box.run("mcp", "--workspace", box.path, "--otlp-endpoint", "https://127.0.0.1:4318")
    assert done.returncode == 2 and "expected http://HOST:PORT" in done.stderr, done
    # The variable may be meant for other programs.
    done = box.run("mcp", "--workspace", box.path, env={"OTEL_EXPORTER_OTLP_ENDPOINT": "https://127.0.0.1:4318"})
    assert done.returncode == 0, done


def test_the_audit_log_has_a_line_for_each_call_and_no_content(box):
    audit = box.path / "audit.jsonl"
    with served(box, "--audit-log", str(audit)) as server:
        assert not post(server, call(1, "Read", file_path="a.txt"))["isError"]
        assert post(server, call(2, "Read", file_path="../outside.txt"))["isError"]
        assert post(server, call(3, "Read", file_path="nothing.txt"))["isError"]
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(line["event"], line["tool"], line["status"], line["request_id"]) for line in lines] == [
        ("tool_call", "Read", "ok", "1"), ("tool_call", "Read", "denied", "2"), ("tool_call", "Read", "error", "3")], lines
    assert lines[0]["answer_bytes"] > len(CONTENT) and lines[0]["argument_bytes"] > 0 and lines[0]["duration_ms"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", lines[0]["time"]), lines[0]
    assert CONTENT not in audit.read_text() and "outside.txt" not in audit.read_text()
    assert audit.stat().st_mode & 0o777 == 0o600


def test_the_documented_metrics_are_those_that_are_served(box):
    page = (ROOT / "docs/metrics.md").read_text()
    documented = set(re.findall(r"^\| `([a-z_]+)` \| (counter|gauge|histogram) \|", page, re.M))
    with served(box) as server:
        post(server, call(1, "Read", file_path="a.txt"))
        text = server.ask({"method": "GET", "path": "/metrics"}).text
    assert set(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)) == documented
    assert CONTENT not in text


def test_calls_are_counted(box):
    with served(box) as server:
        for number in range(3):
            post(server, call(number, "Read", file_path="a.txt"))
        post(server, call(9, "Read", file_path="/etc/passwd"))
        post(server, call(10, "Read", file_path="a.txt"))
        text = server.ask({"method": "GET", "path": "/metrics"}).text
    for line in ('sandbox_tool_calls_total{tool="Read",status="ok",language=""} 4',
                 'sandbox_tool_calls_total{tool="Read",status="denied",language=""} 1',
                 "sandbox_path_violations_total 1", "sandbox_agent_tool_error_rate 0.2", "sandbox_background_shells 0",
                 'sandbox_agent_tool_repetition_total{tool="Read"} 1'):
        assert line + "\n" in text, (line, text)


def test_exit_codes_of_commands_are_counted_in_the_audit_log(box):
    audit = box.path / "audit.jsonl"
    with agent(box, "--audit-log", audit) as caller:
        caller.call("Bash", command="exit 3")
    line = json.loads(audit.read_text().splitlines()[0])
    assert (line["tool"], line["exit_code"], line["status"], line["principal"]) == ("Bash", 3, "ok", "stdio"), line
