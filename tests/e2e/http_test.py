"""End-to-end tests over HTTP: the cases of http/*.toml against `polybox serve` (http/README.md has their keys).

Each file has a server of its own, which its first case starts and the end of the tests stops. As long as there is no
`serve` command there are no tests here.
"""
import base64
import http.client
import json
import pathlib
import re
import shutil
import subprocess
import threading
import time
import tomllib

import serving
from serving import Server, free_port, has_serve

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = serving.TIMEOUT

CASE_KEYS = {"name", "needs", "request", "before", "status", "headers", "body", "body_has", "body_lacks", "json",
             "json_has", "json_null", "absent", "decoded", "decoded_has", "under_ms"}


class SharedServer:
    """Starts when first asked for; the cases of a file share it."""

    def __init__(self, options):
        self.options, self.lock, self.server, self.failure = options, threading.Lock(), None, None

    def get(self):
        with self.lock:
            if self.failure:
                raise AssertionError(self.failure)
            if not self.server:
                try:
                    self.server = Server(**self.options)
                except Exception as reason:
                    self.failure = str(reason)
                    raise
            return self.server


def pick(document, path):
    """The value at `a.b.0.c`."""
    for part in path.split("."):
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def check(case, answer):
    shown = str(answer)
    assert answer.status == case.get("status", 200), f"wrong status{shown}"
    names = {name.lower(): value for name, value in answer.headers.items()}
    for name, wanted in case.get("headers", {}).items():
        assert re.fullmatch(wanted, names.get(name.lower(), "")), f"header {name} is not {wanted!r}{shown}"
    if "body" in case:
        assert answer.text == case["body"], f"the body is not {case['body']!r}{shown}"
    for part in case.get("body_has", []):
        assert part in answer.text, f"the body lacks {part!r}{shown}"
    for part in case.get("body_lacks", []):
        assert part not in answer.text, f"the body has {part!r}{shown}"
    for path, wanted in case.get("json", {}).items():
        got = pick(answer.json(), path)
        assert got == wanted and isinstance(got, bool) == isinstance(wanted, bool), f"{path} is {got!r}, not {wanted!r}{shown}"
    for path, wanted in case.get("json_has", {}).items():
        assert wanted in pick(answer.json(), path), f"{path} lacks {wanted!r}{shown}"
    for path in case.get("json_null", []):
        assert pick(answer.json(), path) is None, f"{path} is not null{shown}"
    for path in case.get("absent", []):
        assert path not in answer.json(), f"{path} is there{shown}"
    for path, wanted in case.get("decoded", {}).items():
        got = base64.b64decode(pick(answer.json(), path), validate=True).decode("utf-8", "replace")
        assert got == wanted, f"{path} is {got!r}, not {wanted!r}{shown}"
    for path, wanted in case.get("decoded_has", {}).items():
        got = base64.b64decode(pick(answer.json(), path), validate=True).decode("utf-8", "replace")
        assert wanted in got, f"{path} is {got!r} and lacks {wanted!r}{shown}"
    if "under_ms" in case:
        assert answer.seconds * 1000 < case["under_ms"], f"it took {answer.seconds * 1000:.0f} ms{shown}"


def run_case(case, shared):
    unknown = case.keys() - CASE_KEYS
    assert not unknown, f"unknown keys in the case: {unknown}"
    server = shared.get()
    for language in case.get("needs", []):
        if language not in server.health["languages"]:
            raise Skip(f"{language} is not available")  # noqa: F821 (run.py puts it here)
    for request in case.get("before", []):
        server.ask(request)
    check(case, server.ask(case["request"]))


def language_cases(row):
    """The same claims for every language: through both doors where both can show it."""
    language, files = row["id"], row.get("more_files", {})
    for claim in row["claim"]:
        sources = {row["entry"]: claim["code"]} | (files if claim.get("with_files") else {})
        listed = [{"name": name, "content": text} for name, text in sources.items()]
        result = "compile" if claim.get("compile_fails") else "run"
        body = {"runtime": language, "files": listed}
        if "stdin" in claim:
            body["stdin"] = {"content": claim["stdin"]}
        case = {"name": f"run {language} {claim['name']}", "needs": [language],
                "request": {"path": "/v1/run", "json": body},
                "json": {f"{result}.exit_code": claim.get("exit", 0), f"{result}.status": "OK"},
                "decoded": {}, "decoded_has": {}}
        for stream in ("stdout", "stderr"):
            if stream in claim:
                case["decoded"][f"{result}.{stream}"] = claim[stream]
            if stream + "_has" in claim:
                case["decoded_has"][f"{result}.{stream}"] = claim[stream + "_has"]
        if result == "compile":
            case["json_null"] = ["run"]
        yield case
        body = {"language": language, "code": claim["code"]}
        if claim.get("with_files"):
            body["files"] = {name: {"base64": text} for name, text in files.items()}
        if "stdin" in claim:
            body["stdin"] = claim["stdin"]
        code = claim.get("exit", 0)
        case = {"name": f"execute {language} {claim['name']}", "needs": [language],
                "request": {"path": "/execute", "json": body},
                "json": {"exit_code": code, "status": "error" if code or claim.get("compile_fails") else "success",
                         "timed_out": False, "oom_killed": False},
                "json_has": {}}
        for stream in ("stdout", "stderr"):
            if stream in claim:
                case["json"][stream] = claim[stream]
            if stream + "_has" in claim:
                case["json_has"][stream] = claim[stream + "_has"]
        yield case


def add_test(name, function):
    # run.py finds tests by their names.
    name = "test_" + re.sub(r"\W+", "_", name)
    assert name not in globals(), f"two cases are called {name}"
    globals()[name] = function


def collect():
    for file in sorted((HERE / "http").glob("*.toml")):
        content = tomllib.loads(file.read_text())
        shared = SharedServer(content.get("server", {}))
        cases = list(content.get("case", []))
        for row in content.get("language", []):
            cases += language_cases(row)
        for case in cases:
            def test(box, case=case, shared=shared):
                run_case(case, shared)
            test.timed = "under_ms" in case
            add_test(f"{file.stem}: {case['name']}", test)


# --- What is more than one request and one answer. ---

MODES = {"python": "python3", "golang": "go", "node": "node", "shell": "bash"}
HELLO = {
    "python": "print(6 * 7)",
    "golang": 'package main\nimport "fmt"\nfunc main() { fmt.Println(6 * 7) }\n',
    "node": "console.log(6 * 7)",
    "shell": "echo $((6 * 7))",
}


def path_with(box, *programs):
    """A PATH that has these programs and nothing else; skips when this machine lacks one."""
    folder = box.path / "bin"
    folder.mkdir(exist_ok=True)
    for program in programs:
        found = shutil.which(program)
        if not found:
            raise Skip(f"{program} is not installed")  # noqa: F821
        (folder / program).symlink_to(found)
    return str(folder)


def refused_start(box, *args, env=None):
    return subprocess.run([str(serving.BINARY), "serve", "--listen", f"127.0.0.1:{free_port()}", *args],
                          env=box.env(env), cwd=box.path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=TIMEOUT)


def check_mode(server, mode):
    try:
        assert server.health["mode"] == mode, server.health
        assert server.health["runtime_version"] not in ("", "unknown"), server.health
        answer = server.ask({"path": "/execute", "json": {"code": HELLO[mode]}})
        assert (answer.status, answer.json()["stdout"]) == (200, "42\n"), answer
    finally:
        server.stop()


def mode_tests():
    for mode, program in MODES.items():
        def by_flag(box, mode=mode, program=program):
            path_with(box, program)
            check_mode(Server(["--mode", mode]), mode)

        def by_environment(box, mode=mode, program=program):
            path_with(box, program)
            check_mode(Server(env={"SANDBOX_MODE": mode}), mode)

        def detected(box, mode=mode, program=program):
            check_mode(Server(path=path_with(box, program)), mode)

        def missing(box, mode=mode, program=program):
            other = "bash" if program != "bash" else "python3"
            done = refused_start(box, "--mode", mode, env={"PATH": path_with(box, other)})
            assert done.returncode == 1, done
            assert f'mode={mode} but "{program}" not found in PATH' in done.stderr, done.stderr

        add_test(f"mode {mode} by flag", by_flag)
        add_test(f"mode {mode} by environment", by_environment)
        add_test(f"mode {mode} is detected", detected)
        add_test(f"mode {mode} without its runtime stops the start", missing)


def no_runtime_at_all(box):
    done = refused_start(box, env={"PATH": path_with(box)})
    assert done.returncode == 1, done
    assert "no supported runtime found in PATH (tried: python3, go, node, bash)" in done.stderr, done.stderr


def an_unknown_mode(box):
    done = refused_start(box, "--mode", "ruby")
    assert done.returncode == 1, done
    assert 'unsupported mode "ruby" (supported: python, golang, node, shell)' in done.stderr, done.stderr


def load_rises_and_the_next_is_refused(box):
    """Cases 24 and 25 of the contract: health counts what runs; above it, 429 at once."""
    server = Server(["--mode", "shell"], env={"SANDBOX_MAX_CONCURRENT": "2"})
    try:
        slow = {"path": "/execute", "json": {"code": "sleep 3; echo done"}}
        answers = []
        running = [threading.Thread(target=lambda: answers.append(server.ask(slow))) for _ in range(2)]
        for thread in running:
            thread.start()
        deadline = time.monotonic() + 2
        while server.ask({"method": "GET", "path": "/health"}).json()["current_load"] < 2:
            assert time.monotonic() < deadline, "the load does not rise"
            time.sleep(0.05)
        refused = server.ask({"path": "/execute", "json": {"code": "echo no"}})
        assert refused.status == 429, refused
        assert refused.text == '{"error":"at capacity (3/2 concurrent executions)"}\n', refused
        assert int({k.lower(): v for k, v in refused.headers.items()}["retry-after"]) >= 1
        assert refused.seconds < 0.5, refused.seconds
        for thread in running:
            thread.join()
        assert [answer.json()["stdout"] for answer in answers] == ["done\n"] * 2
        assert server.ask({"method": "GET", "path": "/health"}).json()["current_load"] == 0
    finally:
        server.stop()


def health_answers_while_commands_run(box):
    """Case 61: under 200 ms while a command sleeps."""
    server = Server()
    try:
        sleeper = threading.Thread(target=lambda: server.ask({"path": "/execute", "json": {"command": "sleep 2"}}))
        sleeper.start()
        asked = 0
        while sleeper.is_alive():
            assert server.ask({"method": "GET", "path": "/"}).seconds < 0.2
            asked += 1
            time.sleep(0.1)
        assert asked > 1
    finally:
        server.stop()


def output_is_streamed_as_it_comes(box):
    server = Server(["--mode", "shell"])
    try:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT)
        started = time.monotonic()
        connection.request("POST", "/execute", json.dumps({"code": "echo one; sleep 2; echo two >&2"}),
                           {"Accept": "text/event-stream"})
        response = connection.getresponse()
        assert response.status == 200 and response.getheader("Content-Type") == "text/event-stream"
        first = response.readline() + response.readline()
        assert first == b'event: stdout\ndata: {"data":"one\\n"}\n', first
        assert time.monotonic() - started < 1.5, "the first event came too late"
        rest = response.read().decode()
        assert 'event: stderr\ndata: {"data":"two\\n"}\n\n' in rest, rest
        result = json.loads(rest.split("event: result\ndata: ")[1])
        assert (result["stdout"], result["stderr"], result["exit_code"]) == ("one\n", "two\n", 0), result
        connection.close()
    finally:
        server.stop()


if has_serve():
    collect()
    mode_tests()
    for measured in (load_rises_and_the_next_is_refused, health_answers_while_commands_run,
                     output_is_streamed_as_it_comes):
        measured.alone = True
        add_test(measured.__name__, measured)
    add_test("no runtime at all stops the start", no_runtime_at_all)
    add_test("an unknown mode stops the start", an_unknown_mode)
