"""execute_code: the tool means what `POST /execute` means, in `polybox mcp` and in `polybox serve`."""
import base64
import json
import pathlib
import tomllib

import serving
from mcp_client import Server, request

LANGUAGES = tomllib.loads((pathlib.Path(__file__).parent / "http/languages.toml").read_text())["language"]
# Toolchains are found and compilers run, perhaps on a busy machine.
PATIENCE = 300
# Members of a result that differ from run to run.
MEASURED = {"execution_time_ms", "cpu_time_ms", "memory_peak_bytes", "queue_ms", "install_time_ms", "compile_time_ms"}


def of_mcp(box):
    command = [box.binary, "mcp", "--workspace", box.write("work/secret.txt", "secret").parent, "--tools=execute"]
    return Server(command, env=serving.clean_environment(box.path), cwd=box.path)


def over_stdio(server, number, **arguments):
    server.send(request(number, "tools/call", name="execute_code", arguments=arguments))
    return server.take(timeout=PATIENCE)["result"]


def over_http(server, **arguments):
    message = request(1, "tools/call", name="execute_code", arguments=arguments)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "execute_code"}
    return server.ask({"path": "/mcp", "json": message, "headers": headers}).json()["result"]


def hello_in(language):
    return next(claim["code"] for claim in language["claim"] if claim["name"] == "hello")


def available():
    with serving.Server() as server:
        return set(server.health["languages"])


def test_every_available_language_runs(box):
    known = available()
    with of_mcp(box) as server:
        for number, language in enumerate(LANGUAGES, start=1):
            if language["id"] not in known:
                continue
            answer = over_stdio(server, number, code=hello_in(language), language=language["id"], timeout_seconds=120)
            assert answer["isError"] is False, answer
            data = answer["structuredContent"]
            assert (data["status"], data["stdout"], data["language"]) == ("success", "hello\n", language["id"]), data
            assert answer["content"][0]["text"].endswith("exit: 0\n"), answer
        assert server.end()[0] == 0


def test_the_result_is_that_of_the_route(box):
    rows = [
        {"code": "print(6 * 7)"},
        {"code": "import sys; print('e', file=sys.stderr); sys.exit(3)", "language": "python"},
        {"code": "import sys; print(sys.argv[1:], open('d/f').read(), input())", "args": ["a", "b c"],
         "files": {"d/f": base64.b64encode(b"text").decode()}, "stdin": "in\n"},
        {"code": "while True: pass", "timeout_seconds": 1},
        {"code": "import os; open(os.environ['OUTPUT_DIR'] + '/x', 'w').write(os.environ['A'])", "env": {"A": "b"}},
        {"code": "x = bytearray(1 << 30)", "limits": {"memory_bytes": 64 << 20}},
        {"code": "echo $0", "language": "bash", "limits": {"processes": 8, "wall_time_ms": 5000}},
        {"code": "x", "language": "no such"},
        {"code": "x", "files": {"../x": ""}},
        {"code": "x", "limits": {"memory": 1}},
        {"code": "x", "env": {"OUTPUT_DIR": "x"}},
    ]
    with serving.Server(["--workspace", str(box.write("work/a", "").parent), "--tools=execute"]) as server:
        for row in rows:
            route = server.ask({"path": "/execute", "json": row})
            tool = over_http(server, **row)
            if route.status != 200:
                assert tool["isError"], tool
                assert tool["content"][0]["text"] == route.json()["error"], (row, tool, route)
                continue
            expected = {key: value for key, value in route.json().items() if value is not None}
            data = tool["structuredContent"]
            assert data.keys() - expected.keys() <= {"files_produced", "isolation_notes", "limits_lowered", "warnings",
                                                     "requirements_ignored", "files_left_out"}, (row, data)
            for key in expected.keys() - MEASURED:
                assert data[key] == expected[key], (row, key, data, expected)
            assert tool["content"][0]["text"].endswith(f"exit: {expected['exit_code']}\n"), tool


def test_the_arguments_are_the_members_of_the_route(box):
    with serving.Server(["--workspace", str(box.write("work/a", "").parent), "--tools=execute"]) as server:
        schema = json.loads(server.document)["components"]["schemas"]["ExecuteRequest"]["properties"]
        message = request(1, "tools/list")
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
        tools = server.ask({"path": "/mcp", "json": message, "headers": headers}).json()["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["execute_code"], tools
    arguments = tools[0]["inputSchema"]["properties"]
    assert arguments.keys() - {"workspace", "budget_tokens"} == schema.keys(), (arguments.keys(), schema.keys())


def test_a_program_sees_nothing_of_the_workspace(box):
    program = (f"import os\nfor path in {[str(box.path), str(box.path / 'work' / 'secret.txt')]!r}:\n"
               "    print(os.path.exists(path))")
    with of_mcp(box) as server:
        answer = over_stdio(server, 1, code=program, language="python", timeout_seconds=60)
        data = answer["structuredContent"]
        if data["isolation"] in ("full", "rootless"):
            assert data["stdout"] == "False\nFalse\n", data
        assert server.end()[0] == 0


def test_long_output_is_cut_to_the_budget(box):
    with of_mcp(box) as server:
        answer = over_stdio(server, 1, code="print('x' * 50000)\nprint('end')", language="python", budget_tokens=500)
        text, data = answer["content"][0]["text"], answer["structuredContent"]
        assert len(text) < 3000 and "bytes elided" in text and "end\n" in text, text
        assert data["stdout_truncated"] is True, data
        assert server.end()[0] == 0


def test_a_cancelled_call_ends_its_program(box):
    with of_mcp(box) as server:
        over_stdio(server, 1, code="print(1)", language="python")
        server.send(request(2, "tools/call", name="execute_code",
                            arguments={"code": "while True: pass", "language": "python", "timeout_seconds": 250}))
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        # One call runs at a time only if the first one has ended; the pool would otherwise still hold it at the end.
        answer = over_stdio(server, 3, code="print(2)", language="python")
        assert answer["structuredContent"]["stdout"] == "2\n", answer
        assert server.end(timeout=PATIENCE)[0] == 0
