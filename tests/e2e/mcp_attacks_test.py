"""Attacks on the tools of agents, with the real binary over stdio and HTTP: messages that are made to cost much, clients that are
slow, many or gone, and tools that are asked for more than anybody can use."""
import concurrent.futures
import contextlib
import json
import pathlib
import resource
import signal
import socket
import time

import serving
from mcp_client import MODERN, Server, request

MIB = 1 << 20
# What the server may need at most, whatever is sent to it.
MOST_MEMORY = 700 * MIB


def polybox(box, *flags):
    return Server([box.binary, "mcp", "--workspace", box.path / "work", *flags], env=box.env(), cwd=box.path)


def workspace(box):
    return box.write("work/hello.txt", "hello\n").parent


def served(box, *flags):
    return serving.Server(["--workspace", str(workspace(box)), *flags])


def peak_memory(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def check_memory(box, pid):
    assert peak_memory(pid) < MOST_MEMORY or "asan" in str(box.binary), f"{peak_memory(pid) // MIB} MiB"


def call(number, name, **arguments):
    return request(number, "tools/call", name=name, arguments=arguments)


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def fields_of(message):
    named = {"Mcp-Name": message["params"]["name"]} if "name" in message["params"] else {}
    return {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": message["method"], **named}


def post(server, message):
    return server.ask({"path": "/mcp", "json": message, "headers": fields_of(message)})


# --- messages ---------------------------------------------------------------------------------------------------------

def with_arguments(text):
    """A whole request whose arguments are this JSON."""
    return '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":%s,"name":"Read","arguments":%s}}' % (
        json.dumps(MODERN), text)


# What is sent, and what the answer must say somewhere.
BOMBS = {
    "deep arrays": (with_arguments("[" * 200000 + "]" * 200000), "more than 64 levels"),
    "deep objects": (with_arguments('{"a":' * 100000 + "1" + "}" * 100000), "more than 64 levels"),
    "as deep as is read": (with_arguments('{"file_path":' + "[" * 60 + "]" * 60 + "}"), "arguments.file_path must be a string"),
    "wide arrays": (with_arguments('{"file_path":[' + "[]," * 4_000_000 + "[]]}"), "memory"),
    "wide objects": (with_arguments("{" + ",".join(f'"{i}":0' for i in range(400_000)) + "}"), "is unknown"),
    "one key very often": (with_arguments("{" + '"file_path":"hello.txt",' * 400_000 + '"file_path":"hello.txt"}'), "hello"),
    "a long text": (with_arguments('{"file_path":"' + "a" * (15 * MIB) + '"}'), "file name too long"),
    "escapes": (with_arguments('{"file_path":"' + "\\u0001" * 2_000_000 + '"}'), "file name too long"),
    "a number without end": (with_arguments('{"file_path":"hello.txt","offset":' + "9" * 1_000_000 + "}"), "offset"),
    "a number beyond all": (with_arguments('{"file_path":"hello.txt","offset":1e999999999}'), "1"),
    "a number of 64 bits and one": (with_arguments('{"file_path":"hello.txt","offset":18446744073709551616}'), "offset"),
    "a fraction": (with_arguments('{"file_path":"hello.txt","limit":1.5}'), "limit"),
    "the least number": (with_arguments('{"file_path":"hello.txt","offset":-9223372036854775808,"limit":-1}'), "hello"),
    "the largest number": (with_arguments('{"file_path":"hello.txt","limit":9223372036854775807}'), "hello"),
    "an end of text inside": (with_arguments('{"file_path":"hello.txt\\u0000.png"}'), "E"),
    "half a character": (with_arguments('{"file_path":"\\ud800"}'), "E"),
    "too long a message": (with_arguments('{"file_path":"' + "a" * (17 * MIB) + '"}'), "longer than 16MiB"),
}


def check_bomb(name, answer_text, seconds):
    """An answer that is an error must say why; none may take long."""
    wanted = BOMBS[name][1]
    answer = json.loads(answer_text)
    failed = "error" in answer or answer["result"]["isError"]
    assert failed if wanted == "E" else wanted in answer_text, (name, answer_text[:500])
    # A body of 16 MiB takes a second on a busy machine.
    assert seconds < 20, (name, seconds)
    assert len(answer_text) < 100_000, (name, len(answer_text))


def test_json_bombs_cost_an_answer_and_no_more_over_stdio(box):
    workspace(box)
    with polybox(box) as server:
        for name, (text, _) in BOMBS.items():
            begin = time.monotonic()
            server.send_bytes(text.encode() + b"\n")
            check_bomb(name, json.dumps(server.take()), time.monotonic() - begin)
        assert text_of(server.ask(call(9, "Read", file_path="hello.txt"))) == "1\thello\n"
        check_memory(box, server.process.pid)
        assert server.end() == (0, [])


def test_json_bombs_cost_an_answer_and_no_more_over_http(box):
    with served(box) as server:
        for name, (text, _) in BOMBS.items():
            headers = fields_of(call(1, "Read")) | {"Content-Type": "application/json"}
            answer = server.ask({"path": "/mcp", "body": text, "headers": headers})
            assert answer.status in (200, 400, 413), (name, answer)
            check_bomb(name, answer.text, answer.seconds)
        assert text_of(post(server, call(9, "Read", file_path="hello.txt")).json()) == "1\thello\n"
        check_memory(box, server.process.pid)


def test_a_member_that_is_there_twice_means_the_same_to_header_check_and_tool(box):
    """Otherwise a proxy that reads the header could be told of another tool than the one that is called."""
    with served(box) as server:
        body = json.dumps(call(1, "Write", file_path="made", content="x"))
        twice = body.replace('"name": "Write"', '"name": "Read", "name": "Write"')
        assert twice != body
        headers = fields_of(call(1, "Read")) | {"Content-Type": "application/json"}
        answer = server.ask({"path": "/mcp", "body": twice, "headers": headers})
        assert (answer.status, answer.json()["error"]["code"]) == (400, -32020), answer
        assert not (box.path / "work/made").exists()


def test_batches_are_bounded_and_each_message_is_answered(box):
    workspace(box)
    with polybox(box) as server:
        server.initialize("2025-03-26")
        one = {"jsonrpc": "2.0", "method": "ping"}
        for _ in range(50):
            answers = server.ask([one | {"id": number} for number in range(100)])
            assert sorted(answer["id"] for answer in answers) == list(range(100))
        refused = server.ask([one | {"id": number} for number in range(101)])
        assert refused["error"]["message"] == "the batch has 101 messages; at most 100 are allowed", refused
        assert server.ask([[one | {"id": 1}]])[0]["error"]["code"] == -32600
        assert server.end() == (0, [])


# --- clients ----------------------------------------------------------------------------------------------------------

def test_64_calls_of_file_tools_at_once_are_answered_without_an_error(box):
    workspace(box)
    calls = [call(number, *(("Read", "Grep", "Glob", "Write")[number % 4],)) for number in range(64)]
    for number, message in enumerate(calls):
        message["params"]["arguments"] = {"Read": {"file_path": "hello.txt"}, "Grep": {"pattern": "hello"},
                                          "Glob": {"pattern": "*.txt"},
                                          "Write": {"file_path": f"new-{number}", "content": "x"}}[message["params"]["name"]]
    with polybox(box) as server:
        for message in calls:
            server.send(message)
        answers = {(answer := server.take())["id"]: answer for _ in calls}
        assert len(answers) == 64 and not any(answer["result"]["isError"] for answer in answers.values()), answers
        assert server.end() == (0, [])
    for file in (box.path / "work").glob("new-*"):
        file.unlink()
    with served(box) as server, concurrent.futures.ThreadPoolExecutor(64) as threads:
        for answer in threads.map(lambda message: post(server, message), calls):
            assert answer.status == 200 and not answer.json()["result"]["isError"], answer


def test_a_client_that_does_not_read_yet_loses_no_answer(box):
    """3000 calls are sent before the first answer is read. Each has one answer: its result, or that too many wait."""
    workspace(box)
    with polybox(box) as server:
        for number in range(3000):
            server.send(call(number, "Read", file_path="hello.txt"))
        answers = [server.take() for _ in range(3000)]
        assert sorted(answer["id"] for answer in answers) == list(range(3000))
        for answer in answers:
            assert "result" in answer and text_of(answer) == "1\thello\n" or answer["error"]["code"] == -32000, answer
        assert server.end() == (0, [])


def raw_post(server, message, close=False):
    """The bytes of a POST."""
    body = json.dumps(message).encode()
    fields = fields_of(message) | {"Host": f"127.0.0.1:{server.port}", "Content-Type": "application/json",
                                   "Content-Length": str(len(body))} | ({"Connection": "close"} if close else {})
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


@contextlib.contextmanager
def connections(server, count):
    held = []
    try:
        for _ in range(count):
            held.append(socket.create_connection(("127.0.0.1", server.port), timeout=serving.TIMEOUT))
        yield held
    finally:
        for each in held:
            each.close()


def test_clients_that_do_not_read_or_finish_their_requests_hold_nobody_else(box):
    (workspace(box) / "large.txt").write_text("x" * 100 + "\n")
    (box.path / "work/large.txt").write_text(("x" * 100 + "\n") * 30_000)
    large = call(1, "Read", file_path="large.txt", limit=10**9, budget_tokens=1_000_000)
    with served(box) as server, connections(server, 40) as deaf, connections(server, 40) as slow:
        for each in deaf:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.sendall(raw_post(server, large))
        for each in slow:
            each.sendall(raw_post(server, large)[:-10])
        for number in range(20):
            answer = post(server, call(number, "Read", file_path="hello.txt"))
            assert text_of(answer.json()) == "1\thello\n" and answer.seconds < 20, answer
        check_memory(box, server.process.pid)


def read_to_the_end(connection):
    answer = b""
    while part := connection.recv(65536):
        answer += part
    return answer


def test_thousands_of_connections_are_all_answered(box):
    """Three times as many as the server has at once. Where this process may have fewer files open, as many as it may."""
    count = min(3000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
    with served(box) as server:
        with connections(server, 0) as held:
            for number in range(count):
                held.append(socket.create_connection(("127.0.0.1", server.port), timeout=serving.TIMEOUT))
                held[-1].sendall(raw_post(server, call(number, "Read", file_path="hello.txt"), close=True))
            answers = [read_to_the_end(each) for each in held]
        good = [answer for answer in answers if b"1\\thello\\n" in answer]
        # A call that finds too many others waiting is told so.
        busy = [answer for answer in answers if b'"code":-32000' in answer]
        assert len(good) + len(busy) == count and len(good) > len(busy), (len(good), len(busy), count)
        check_memory(box, server.process.pid)


def test_a_server_with_connected_clients_ends_soon_and_with_success(box):
    with served(box) as server, connections(server, 20) as idle:
        for each in idle[:10]:
            each.sendall(raw_post(server, request(1, "tools/list")))
            assert each.recv(12) == b"HTTP/1.1 200"
        begin = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(serving.STOP_TIMEOUT) == 0
        # It would be 10 s, `drain-timeout`, if it waited for them.
        assert time.monotonic() - begin < 8


# --- tools ------------------------------------------------------------------------------------------------------------

def test_an_answer_is_bounded_whatever_is_asked_for(box):
    folder = workspace(box)
    (folder / "large.txt").write_text(("needle " * 10 + "\n") * 2_000_000)
    for number in range(3000):
        (folder / f"many-{number:04}.txt").write_text("needle\n")
    most = 10**15
    calls = [("Read", {"file_path": "large.txt", "limit": most}), ("Read", {"file_path": "large.txt", "offset": 1_999_999}),
             ("Grep", {"pattern": "needle", "head_limit": most, "context": 100}), ("Grep", {"pattern": ".*", "multiline": True}),
             ("Glob", {"pattern": "**", "limit": most}), ("List", {"limit": most, "depth": 20})]
    with polybox(box) as server:
        for number, (name, arguments) in enumerate(calls):
            answer = server.ask(call(number, name, **arguments))
            assert not answer["result"]["isError"], answer
            # The text, and the same as data.
            assert len(text_of(answer)) < 4 * 8000 + 500, (name, len(text_of(answer)))
            assert len(json.dumps(answer)) < 30 * 8000, (name, len(json.dumps(answer)))
            if arguments.get("offset") is None:
                assert "left out" in text_of(answer), (name, text_of(answer)[-200:])
        check_memory(box, server.process.pid)
        refused = server.ask(call(99, "Read", file_path="large.txt", budget_tokens=most))
        assert refused["result"]["isError"] and "budget_tokens" in text_of(refused), refused
        assert server.end() == (0, [])


def snapshot(folder):
    """All that can be seen of a tree: contents, modes, times of changes."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        state = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        found[str(path)] = (state.st_mode, state.st_uid, state.st_ino, state.st_mtime_ns, state.st_ctime_ns, content)
    return found


def test_a_read_only_server_offers_nothing_that_writes_and_writes_nothing(box):
    folder = workspace(box)
    box.write("work/.git/HEAD", "ref: refs/heads/main\n")
    box.write("work/sub/app.py", "a = 1\n")
    before = snapshot(folder)
    calls = [("Read", {"file_path": "hello.txt"}), ("Grep", {"pattern": "a"}), ("Glob", {"pattern": "**"}), ("List", {"depth": 5}),
             ("Write", {"file_path": "new", "content": "x"}), ("Delete", {"path": "hello.txt"}),
             ("Edit", {"file_path": "hello.txt", "old_string": "h", "new_string": "j"}),
             ("Move", {"source": "hello.txt", "destination": "moved"})]
    with polybox(box, "--readonly", "--tools", "all") as server:
        tools = server.ask(request(0, "tools/list"))["result"]["tools"]
        assert tools and all(tool["annotations"]["readOnlyHint"] for tool in tools), tools
        offered = {tool["name"] for tool in tools}
        for number, (name, arguments) in enumerate(calls, 1):
            answer = server.ask(call(number, name, **arguments))
            assert (name in offered) == ("result" in answer), answer
            assert name in offered or answer["error"]["code"] == -32602, answer
        assert server.end() == (0, [])
    assert snapshot(folder) == before
    with served(box, "--readonly") as server:
        answer = post(server, call(1, "Write", file_path="new", content="x"))
        assert answer.json()["error"]["code"] == -32602, answer
    assert snapshot(folder).keys() == before.keys()
