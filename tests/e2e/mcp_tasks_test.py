"""Calls that become tasks: a command that outlives its client's patience, the official client that asks for tasks, and attacks on
the tasks of others."""
import json
import subprocess
import time

import mcp_test
import serving
from mcp_client import MODERN, Server, legacy
from traces import await_true

EXTENSION = "io.modelcontextprotocol/tasks"
CAPABLE = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}}}
MOST_RUNNING = 8


def served(box, *flags):
    return serving.Server(["--workspace", str(box.path), "--mode", "shell", *flags])


def piped(box):
    folder = box.write("work/hello.txt", "hello\n").parent
    return Server([box.binary, "mcp", "--workspace", folder], env=box.env(), cwd=box.path)


def ask(server, number, method, meta=None, headers=None, **params):
    """The result of a request of 2026-07-28 whose client knows tasks; an error as it is."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": MODERN | CAPABLE | (meta or {}), **params}}
    name = params.get("name") or params.get("taskId")
    fields = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method} | ({"Mcp-Name": name} if name else {})
    answer = server.ask({"path": "/mcp", "json": message, "headers": fields | (headers or {})}).json()
    return answer.get("result") or answer["error"]


def bash(server, number, command, meta=None, headers=None, **arguments):
    return ask(server, number, "tools/call", meta, headers, name="Bash", arguments={"command": command, **arguments})


def finished(server, task, headers=None):
    """The task when it has ended."""
    state = {}

    def has_ended():
        state.update(ask(server, 1, "tasks/get", headers=headers, taskId=task["taskId"]))
        return state["status"] not in ("working", "input_required")

    deadline = time.monotonic() + 300
    while not has_ended():
        assert time.monotonic() < deadline, state
        time.sleep(0.2)
    return state


def text_of(result):
    return result["content"][0]["text"]


def test_a_quick_command_is_answered_and_a_long_one_becomes_a_task(box):
    with served(box) as server:
        quick = bash(server, 1, "echo quick")
        assert quick["resultType"] == "complete" and text_of(quick) == "quick\n", quick
        begin = time.monotonic()
        task = bash(server, 2, "sleep 90; echo 'after a long time'", timeout=300)
        assert task["resultType"] == "task" and task["status"] == "working", task
        assert time.monotonic() - begin < 60, "the answer took longer than the client waits"
        ended = finished(server, task)
        assert time.monotonic() - begin >= 90 and ended["status"] == "completed", ended
        assert text_of(ended["result"]) == "after a long time\n" and not ended["result"]["isError"], ended


def test_the_official_client_finishes_a_long_command_through_a_task(box):
    """With its own timeout of 60 s for each request."""
    node, script = mcp_test.node(box), mcp_test.HERE / "mcp_clients/long_task.cjs"
    with served(box) as server:
        done = subprocess.run([node, script, box.root / "build/node", f"http://127.0.0.1:{server.port}/mcp", "sleep 90; echo finished"],
                              capture_output=True, text=True, timeout=300, cwd=box.path, env=box.env())
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout)
    assert seen["created"] and "completed" in seen["statuses"], seen
    assert text_of(seen["result"]) == "finished\n" and seen["seconds"] >= 90, seen


def test_a_client_that_knows_no_tasks_gets_a_handle_of_the_command(box):
    with served(box) as server:
        answer = bash(server, 1, "sleep 30; echo late", meta={"io.modelcontextprotocol/clientCapabilities": {}}, soft_timeout=12)
        assert answer["resultType"] == "complete" and "shell_id: " in text_of(answer), answer


def test_cancelling_a_task_ends_its_command(box):
    with served(box) as server:
        task = bash(server, 1, "echo $$ > pid; exec sleep 301", timeout=400)
        assert task["resultType"] == "task", task
        assert ask(server, 2, "tasks/cancel", taskId=task["taskId"])["resultType"] == "complete"
        assert ask(server, 3, "tasks/get", taskId=task["taskId"])["status"] == "cancelled"
        await_true(lambda: "gone" in text_of(bash(server, 4, "pgrep -f 'sleep 30[1]' || echo gone")), "the command goes on")


def test_a_task_survives_the_request_that_began_it_and_belongs_to_its_token(box):
    token = box.write("tokens", "1" * 16 + "\n" + "2" * 16 + "\n")
    one, two = ({"Authorization": f"Bearer {digit * 16}"} for digit in "12")
    with served(box, "--token-file", str(token)) as server:
        task = bash(server, 1, "sleep 14; echo mine", headers=one, timeout=60)
        assert task["resultType"] == "task", task
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            extra = {"inputResponses": {}} if method == "tasks/update" else {}
            stolen = ask(server, 2, method, headers=two, taskId=task["taskId"], **extra)
            assert stolen == {"code": -32602, "message": f"unknown task {task['taskId']}"}, stolen
        assert text_of(finished(server, task, one)["result"]) == "mine\n"


def test_guessed_ids_and_wrong_states_are_refused(box):
    with served(box, "--conformance-fixtures") as server:
        for guess in ("", "x" * 3000, "00000000-0000-4000-8000-000000000000", "../1"):
            answer = ask(server, 1, "tasks/get", taskId=guess)
            assert answer["code"] in (-32602, -32020), answer
        first = ask(server, 1, "tools/call", name="test_input_required_result_request_state", arguments={},
                    meta={"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}})
        state = first["requestState"]
        answers = {"confirm": {"action": "accept", "content": {"ok": True}}}
        capable = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        for name, forged in (("test_input_required_result_request_state", state[:-2] + '"}'),
                             ("test_input_required_result_request_state", "f" * 64 + state[64:]),
                             ("test_input_required_result_request_state", ""),
                             # A state is bound to the request for which it was made.
                             ("test_input_required_result_tampered_state", state)):
            refused = ask(server, 2, "tools/call", meta=capable, name=name, arguments={}, inputResponses=answers, requestState=forged)
            assert refused.get("code") == -32602 and "requestState" in refused["message"], refused
        done = ask(server, 3, "tools/call", meta=capable, name="test_input_required_result_request_state", arguments={},
                   inputResponses=answers, requestState=state)
        assert done["resultType"] == "complete", done


def test_too_many_tasks_are_answered_without_one(box):
    with served(box, "--conformance-fixtures") as server:
        tasks = [ask(server, number, "tools/call", name="slow_compute", arguments={"seconds": 300}) for number in range(MOST_RUNNING)]
        assert all(task["resultType"] == "task" for task in tasks), tasks
        more = ask(server, 99, "tools/call", name="slow_compute", arguments={"seconds": 1})
        assert more["resultType"] == "complete", more
        for task in tasks:
            ask(server, 100, "tasks/cancel", taskId=task["taskId"])
        await_true(lambda: ask(server, 101, "tools/call", name="slow_compute", arguments={"seconds": 1})["resultType"] == "task",
                   "cancelled tasks still count")


def test_tasks_over_a_pipe_are_listed_and_end_with_it(box):
    with piped(box) as server:
        server.initialize("2025-11-25")
        server.send(legacy(1, "tools/call", name="Bash", arguments={"command": "sleep 302", "timeout": 400}, task={"ttl": 60000}))
        task = server.take()["result"]["task"]
        assert task["status"] == "working" and task["ttl"] == 60000, task
        listed = server.ask(legacy(2, "tasks/list"))["result"]["tasks"]
        assert [each["taskId"] for each in listed] == [task["taskId"]], listed
        server.send(legacy(3, "tasks/result", taskId=task["taskId"]))
        assert server.ask(legacy(4, "ping"))["id"] == 4
        cancelled = server.ask(legacy(5, "tasks/cancel", taskId=task["taskId"]))
        # tasks/result ends with the task, before or after the answer to the cancellation.
        answers = {message["id"]: message for message in (cancelled, server.take())}
        assert answers[5]["result"]["status"] == "cancelled", answers
        assert "cancelled" in answers[3]["error"]["message"], answers
        again = server.ask(legacy(6, "tasks/cancel", taskId=task["taskId"]))
        assert again["error"]["code"] == -32602, again
        refused = server.ask(legacy(7, "tools/call", name="Read", arguments={"file_path": "x"}, task={}))
        assert refused["error"]["code"] == -32601, refused
        server.send(legacy(8, "tools/call", name="Bash", arguments={"command": "sleep 303", "timeout": 400}, task={}))
        assert server.take()["result"]["task"]["status"] == "working"
        assert server.end(20) == (0, [])


def test_older_versions_ignore_a_wish_for_a_task(box):
    with piped(box) as server:
        server.initialize("2025-06-18")
        answer = server.ask(legacy(1, "tools/call", name="Bash", arguments={"command": "echo now"}, task={"ttl": 5}))
        assert text_of(answer["result"]) == "now\n", answer
        assert server.ask(legacy(2, "tasks/list"))["error"]["code"] == -32601
