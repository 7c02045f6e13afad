"""End-to-end tests of a server that was told to end while a program runs, and of the log lines of requests."""
import json
import threading
import time

import serving
from serving import Server

EXECUTE = {"path": "/execute", "body": '{"code": "echo no"}'}
RUN = {"path": "/v1/run", "json": {"runtime": "bash", "files": [{"name": "a.sh", "content": "echo no"}]}}
FORM = '--B\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\nx\r\n--B--\r\n'


def get(path):
    return {"method": "GET", "path": path}


def upload(name):
    return {"path": "/upload", "headers": {"Content-Type": "multipart/form-data; boundary=B"}, "body": FORM % name}


def await_true(holds, complaint):
    deadline = time.monotonic() + serving.TIMEOUT
    while not holds():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.02)


class HeldCommand:
    """A command that runs until the file `end` is in the base directory, for 40 s at most."""

    CODE = "touch begun; for i in $(seq 800); do [ -e end ] && break; sleep 0.05; done; echo finished"

    def __init__(self, server):
        self.answers = []
        self.thread = threading.Thread(target=lambda: self.answers.append(
            server.ask({"path": "/execute", "json": {"command": f"bash -c '{self.CODE}'"}})))
        self.thread.start()
        await_true(lambda: server.ask(get("/exists/begun")).json()["exists"], "the command does not begin")

    def get(self):
        self.thread.join(serving.TIMEOUT)
        return self.answers[0]


def test_while_it_drains_new_connections_are_told_so_and_what_runs_finishes(box):
    server = Server(["--mode", "shell", "--drain-timeout", "60s"])
    try:
        command = HeldCommand(server)
        base = server.folder.name + "/base/"
        server.process.terminate()
        await_true(lambda: server.ask(get("/readyz")).status == 503, "readiness does not change")
        assert server.ask(get("/readyz")).json()["reasons"] == ["the server is about to end"]
        assert server.ask(get("/health")).status == 503
        assert server.ask(get("/healthz")).status == 200
        for request, words in ((EXECUTE, {"error": "the server is shutting down"}),
                               (RUN, {"code": "SERVER_BUSY", "message": "server is busy, please retry later"}),
                               (upload("late"), {"detail": "the server is shutting down"})):
            answer = server.ask(request)
            headers = {name.lower(): value for name, value in answer.headers.items()}
            assert answer.status == 503 and answer.json() == words, answer
            assert headers["retry-after"] == "1" and headers["connection"] == "close", answer
        assert not command.answers, "the command has ended by itself"
        assert server.ask(get("/exists/late")).json() == {"path": "late", "exists": False}
        open(base + "end", "w").close()
        answer = command.get()
        assert answer.status == 200 and answer.json()["stdout"] == "finished\n", answer
        assert server.process.wait(serving.STOP_TIMEOUT) == 0
    finally:
        server.stop()


def log_lines(server):
    lines = server.whole_log().decode().splitlines()
    return [line for line in map(json.loads, lines) if line.get("msg", line.get("message")) == "request"]


def test_a_log_line_has_the_language_and_the_outcome_and_nothing_of_the_client(box):
    strange = "<strange-word>"
    cases = [
        ({"path": "/execute", "json": {"code": "echo ran"}}, "bash", "exited"),
        ({"path": "/execute", "json": {"code": "sleep 9", "timeout_seconds": 1}}, "bash", "timed_out"),
        ({"path": "/v1/run", "json": RUN["json"]}, "bash", "exited"),
        ({"path": "/execute", "json": {"command": "true"}}, "", "exited"),
        ({"path": "/execute", "json": {"code": "x", "language": strange}}, "", "refused"),
        ({"path": "/v1/run", "json": {"runtime": strange, "files": []}}, "", "refused"),
        ({"path": "/execute", "json": {"code": f"echo '{strange}'; kill -9 $$"}}, "bash", "signalled"),
        ({"path": "/execute", "body": "{}", "headers": {"Origin": f"http://{strange}"}}, "", "foreign_origin"),
        ({"path": "/execute", "body": "{}", "headers": {"Host": f"{strange}"}}, "", "foreign_host"),
        ({"method": "DELETE", "path": "/execute"}, "", "method_not_allowed"),
    ]
    with Server(["--mode", "shell"]) as server:
        for number, (request, language, outcome) in enumerate(cases):
            headers = {"X-Request-ID": f"case-{number}"} | request.get("headers", {})
            server.ask(request | {"headers": headers})
        await_true(lambda: any(line["id"] == f"case-{len(cases) - 1}" for line in log_lines(server)), "no log line")
        lines = {line["id"]: line for line in log_lines(server)}
        for number, (request, language, outcome) in enumerate(cases):
            line = lines[f"case-{number}"]
            assert (line["language"], line["outcome"]) == (language, outcome), (request, line)
        assert strange.encode() not in server.whole_log()
