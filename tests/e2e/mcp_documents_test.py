"""Documents: stored output of commands and files of workspaces, how they are read, listed and watched, and who may."""
import json
import os
import re

import serving
from event_stream import EventStream
from mcp_client import MODERN, Server, legacy, request

HEADERS = {"MCP-Protocol-Version": "2026-07-28", "Content-Type": "application/json"}
MOST_WATCHES = 64
MOST_PART = 32000


def polybox(box, *flags):
    return Server([box.binary, "mcp", "--workspace", box.path / "work", *flags], env=box.env(), cwd=box.path)


def workspace(box):
    box.write("outside.txt", "not for agents\n")
    return box.write("work/hello.txt", "hello\n").parent


def read(server, number, uri):
    answer = server.ask(request(number, "resources/read", uri=uri))
    return answer["result"]["contents"][0] if "result" in answer else answer["error"]


def link_of(result):
    links = [block for block in result["content"] if block["type"] == "resource_link"]
    assert len(links) == 1, result
    return links[0]


def test_output_that_an_answer_leaves_out_can_be_read_part_by_part(box):
    workspace(box)
    with polybox(box) as server:
        result = server.call(1, "Bash", command="seq 1 100000", budget_tokens=500)["result"]
        whole = "".join(f"{number}\n" for number in range(1, 100001))
        link = link_of(result)
        assert link["size"] == len(whole) and link["mimeType"] == "text/plain", link
        parts, uri, number = [], link["uri"], 2
        while uri:
            part = read(server, number, uri)
            assert len(part["text"]) <= MOST_PART, len(part["text"])
            parts.append(part["text"])
            uri, number = part.get("_meta", {}).get("polybox/nextUri"), number + 1
        assert "".join(parts) == whole, (len(parts), sum(map(len, parts)))
        assert read(server, number, link["uri"] + "?from=2&bytes=6")["text"] == whole[2:8]
        listed = server.ask(request(number + 1, "resources/list"))["result"]["resources"]
        assert [each["uri"] for each in listed] == [link["uri"]] and "seq 1 100000" in listed[0]["name"], listed


def test_a_part_never_cuts_a_character(box):
    workspace(box)
    with polybox(box) as server:
        result = server.call(1, "Bash", command="printf 'ä%.0s' $(seq 1 3000)", budget_tokens=100)["result"]
        text, uri, number = "", link_of(result)["uri"] + "?bytes=999", 2
        while uri:
            part = read(server, number, uri)
            text += part["text"]
            uri, number = part.get("_meta", {}).get("polybox/nextUri"), number + 1
        assert text == "ä" * 3000, text[:50]


def test_variables_of_the_template_are_completed(box):
    workspace(box)
    with polybox(box) as server:
        shell = server.call(1, "Bash", command="sleep 100", run_in_background=True)["result"]["structuredContent"]["shell_id"]
        ref = {"type": "ref/resource", "uri": "output:///{shell_id}/{stream}{?from,bytes}"}
        templates = server.ask(request(2, "resources/templates/list"))["result"]["resourceTemplates"]
        assert ref["uri"] in [each["uriTemplate"] for each in templates], templates
        for variable, begin, values in (("shell_id", shell[:3], [shell]), ("shell_id", "x", []), ("stream", "std", ["stdout", "stderr"])):
            answer = server.ask(request(3, "completion/complete", ref=ref, argument={"name": variable, "value": begin}))
            assert answer["result"]["completion"] == {"values": values, "hasMore": False}, answer


def test_files_are_read_within_their_workspace_only(box):
    folder = workspace(box)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 20)
    (folder / "with space.txt").write_text("space\n")
    (folder / "big").write_bytes(b"x" * (600 << 10))
    (folder / "out").symlink_to(box.path / "outside.txt")
    (folder / "in").symlink_to(folder / "hello.txt")
    os.mkfifo(folder / "fifo")
    with polybox(box) as server:
        assert read(server, 1, f"file://{folder}/hello.txt")["text"] == "hello\n"
        assert read(server, 2, f"file://{folder}/with%20space.txt")["text"] == "space\n"
        assert read(server, 3, f"file://{folder}/in")["text"] == "hello\n"
        assert read(server, 4, f"file://{folder}/picture.png")["blob"].startswith("iVBOR")
        for path in (f"{folder}/../outside.txt", f"{folder}/%2e%2e/outside.txt", str(box.path / "outside.txt"), f"{folder}/out",
                     f"{folder}/out/", "/etc/passwd", f"{folder}x/y", f"{folder}/fifo", f"{folder}/nothing", str(folder), f"{folder}/big",
                     f"/proc/self/root{folder}/hello.txt"):
            refused = read(server, 5, f"file://{path}")
            assert refused["code"] == -32602 and refused["data"] == {"uri": f"file://{path}"}, (path, refused)
            assert "not for agents" not in json.dumps(refused), refused


def test_a_watched_file_and_a_watched_command_tell_their_changes(box):
    folder = workspace(box)
    with polybox(box) as server:
        server.initialize("2025-11-25")
        uri = f"file://{folder}/hello.txt"
        assert server.ask(legacy(1, "resources/subscribe", uri=uri))["result"] == {}
        (folder / "other.txt").write_text("not watched\n")
        (folder / "hello.txt").write_text("changed\n")
        told = server.take()
        assert told == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}, told
        assert server.ask(legacy(2, "resources/unsubscribe", uri=uri))["result"] == {}
        (folder / "hello.txt").write_text("again\n")
        started = server.ask(legacy(3, "tools/call", name="Bash", arguments={"command": "read x; echo $x", "stdin_open": True,
                                                                            "run_in_background": True}))
        shell = started["result"]["structuredContent"]["shell_id"]
        output = f"output:///{shell}/stdout"
        assert server.ask(legacy(4, "resources/subscribe", uri=output))["result"] == {}
        server.send(legacy(5, "tools/call", name="shell_input", arguments={"shell_id": shell, "text": "news\n"}))
        messages = [server.take(), server.take()]
        updates = [message["params"]["uri"] for message in messages if "method" in message]
        assert updates == [output], messages
        assert server.ask(legacy(6, "resources/subscribe", uri="output:///nothing/stdout"))["error"]["code"] == -32002


def listening(server, uris, headers=None):
    message = request(1, "subscriptions/listen", notifications={"resourceSubscriptions": uris, "toolsListChanged": True})
    fields = HEADERS | {"Mcp-Method": "subscriptions/listen"} | (headers or {})
    return EventStream(server.port, "POST", "/mcp", fields, json.dumps(message).encode())


def test_a_listening_client_of_2026_is_told_on_its_stream(box):
    folder = workspace(box)
    uri = f"file://{folder}/new.txt"
    server = serving.Server(["--workspace", str(folder), "--mode", "shell"])
    with listening(server, [uri, "file:///etc/passwd", "output:///guess/stdout"]) as stream:
        first = stream.message()
        assert first["method"] == "notifications/subscriptions/acknowledged", first
        assert first["params"]["notifications"] == {"resourceSubscriptions": [uri]}, first
        (folder / "new.txt").write_text("new\n")
        told = stream.message()
        assert told["method"] == "notifications/resources/updated" and told["params"]["uri"] == uri, told
        assert told["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": 1} == first["params"]["_meta"], told
        server.stop()
        assert stream.take() is None


def test_output_belongs_to_its_caller(box):
    folder = workspace(box)
    token = box.write("tokens", "1" * 16 + "\n" + "2" * 16 + "\n")
    one, two = ({"Authorization": f"Bearer {digit * 16}"} for digit in "12")

    def ask(method, headers, named=None, **params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": MODERN, **params}}
        fields = HEADERS | {"Mcp-Method": method} | headers | ({"Mcp-Name": named} if named else {})
        return server.ask({"path": "/mcp", "json": message, "headers": fields}).json()

    with serving.Server(["--workspace", str(folder), "--mode", "shell", "--token-file", str(token)]) as server:
        call = ask("tools/call", one, "Bash", name="Bash", arguments={"command": "seq 1 100000", "budget_tokens": 500})
        uri = link_of(call["result"])["uri"]
        assert re.fullmatch(r"output:///[0-9a-f-]{36}/output", uri), uri
        assert ask("resources/read", one, uri, uri=uri)["result"]["contents"][0]["text"].startswith("1\n2\n")
        stolen = ask("resources/read", two, uri, uri=uri)["error"]
        assert stolen["code"] == -32602 and "unknown shell_id" in stolen["message"], stolen
        assert ask("resources/list", two)["result"]["resources"] == []
        with listening(server, [uri], two) as stream:
            assert stream.message()["params"]["notifications"] == {}


def test_watches_are_bounded_and_noise_costs_little(box):
    folder = workspace(box)
    with polybox(box) as server:
        server.initialize("2025-11-25")
        for number in range(MOST_WATCHES):
            assert server.ask(legacy(number, "resources/subscribe", uri=f"file://{folder}/{number}"))["result"] == {}
        refused = server.ask(legacy(99, "resources/subscribe", uri=f"file://{folder}/more"))
        assert refused["error"]["code"] == -32000, refused
        call = {"command": "for i in $(seq 1 500); do echo $i > 1; done", "budget_tokens": 100}
        server.send(legacy(100, "tools/call", name="Bash", arguments=call))
        updates = 0
        while "result" not in (message := server.take()):
            assert message["params"]["uri"] == f"file://{folder}/1", message
            updates += 1
        assert updates < 50, updates
