"""Memory: what compilers need for the programs of large/ fits into their limits, and a step that memory was refused to
says so in its error output, through every door.

The programs of large/ are of a size that people send: several TypeScript files under `strict` with the DOM library,
generic Rust, <bits/stdc++.h> with std::regex and type lists, Go with net/http, Java with streams and records.
"""
import base64
import json
import pathlib
import re

import serving
from http_test import SharedServer, has_serve

LARGE = pathlib.Path(__file__).resolve().parent / "large"
# Language: its files, the program's own first.
LARGE_PROGRAMS = {
    "node-typescript": ["main.ts", "model.ts", "parser.ts", "tsconfig.json"],
    "rust": ["main.rs"],
    "cpp": ["main.cpp"],
    "go": ["script.go"],
    "java": ["Main.java"],
}
SERVER = SharedServer({"args": ["--compile-cache=off"]})

# Each writes to more memory than it may have.
HUNGRY = {
    "python": "x = bytearray(500_000_000)\nfor i in range(0, len(x), 4096): x[i] = 1\n",
    "node": "const kept = []; for (;;) kept.push(new Array(1000).fill(1.5));",
    "bash": "x=aaaaaaaa; while :; do x=$x$x; done",
}
KILLED = "polybox: killed: out of memory (limit {}; raise it with {})\n"


def need(server, language):
    if language not in server.health["languages"]:
        raise Skip(f"{language} is not available")  # noqa: F821 (run.py puts it here)
    if server.health["isolation"] not in ("full", "rootless"):
        raise Skip("no cgroup limits memory here")  # noqa: F821


def compile_large(language):
    def test(box):
        server = SERVER.get()
        need(server, language)
        entry, *others = LARGE_PROGRAMS[language]
        files = {name: base64.b64encode((LARGE / name).read_bytes()).decode() for name in others}
        result = server.execute((LARGE / entry).read_text(), language=language, files=files)
        assert result["exit_code"] == 0 and result["status"] == "success", result
    test.alone = True
    return test


def run_dialect(server, language, code, entry):
    files = [{"name": entry, "content": code}]
    answer = server.ask({"path": "/v1/run", "json": {"runtime": language, "files": files}}).json()
    for step in ("compile", "run"):
        for stream in ("stdout", "stderr", "output"):
            if answer[step]:
                answer[step][stream] = base64.b64decode(answer[step][stream]).decode()
    return answer


def test_a_killed_program_says_so_with_the_limit_through_execute(box):
    server = SERVER.get()
    need(server, "python")
    lowered = server.execute(HUNGRY["python"], language="python", limits={"memory_bytes": 64 << 20})
    assert lowered["stderr"] == KILLED.format("64MiB", "limits.memory_bytes"), lowered
    assert lowered["oom_killed"] and lowered["exit_code"] == -1, lowered
    full = server.execute(HUNGRY["python"], language="python")
    assert full["stderr"] == KILLED.format("256MiB", "the setting run-memory"), full


def test_a_killed_program_says_so_through_the_run_dialect_in_its_own_shape(box):
    server = SERVER.get()
    need(server, "python")
    run = run_dialect(server, "python", "print('so far', flush=True)\n" + HUNGRY["python"], "a.py")["run"]
    note = KILLED.format("256MiB", "the setting run-memory")
    assert run["stderr"] == note and run["output"] == "so far\n" + note, run
    assert (run["status"], run["signal"], run["exit_code"]) == ("SIGNAL", "SIGKILL", 137), run
    assert run.keys() == {"stdout", "stderr", "output", "exit_code", "status", "signal", "duration_ms"}, run


def test_a_killed_program_says_so_in_the_event_stream(box):
    server = SERVER.get()
    need(server, "python")
    code = "import sys; sys.stderr.write('no line end'); sys.stderr.flush()\n" + HUNGRY["python"]
    answer = server.ask({"path": "/execute", "json": {"code": code, "language": "python"},
                         "headers": {"Accept": "text/event-stream"}})
    events = [dict(line.split(": ", 1) for line in block.split("\n")) for block in answer.text.strip().split("\n\n")]
    said = "".join(json.loads(one["data"])["data"] for one in events if one["event"] == "stderr")
    wanted = "no line end\n" + KILLED.format("256MiB", "the setting run-memory")
    assert said == wanted, events
    assert json.loads(events[-1]["data"])["stderr"] == wanted, events


def test_a_killed_command_says_so(box):
    with serving.Server(["--command-memory", "64MiB"]) as server:
        need(server, "python")
        words = "sh -c 'x=aaaaaaaa; while :; do x=$x$x; done'"
        result = server.ask({"path": "/execute", "json": {"command": words}}).json()
        assert "out of memory (limit " in result["stderr"], result
        assert "raise it with the setting command-memory)" in result["stderr"], result


def test_the_settings_that_are_named_change_the_limits(box):
    with serving.Server(["--run-memory", "128MiB", "--compile-memory", "48MiB"]) as server:
        need(server, "python")
        run = server.execute(HUNGRY["python"], language="python")
        assert run["stderr"] == KILLED.format("128MiB", "the setting run-memory"), run
        if "cpp" not in server.health["languages"]:
            return
        code = (LARGE / "main.cpp").read_text()
        compiled = server.execute(code, language="cpp")
        pattern = r"polybox: .*out of memory \(limit 48MiB; raise it with the setting compile-memory\)\n"
        assert re.search(pattern, compiled["stderr"]) and compiled["status"] == "error", compiled
        compiled = run_dialect(server, "cpp", code, "main.cpp")
        assert compiled["run"] is None and re.search(pattern, compiled["compile"]["stderr"]), compiled
    with serving.Server(["--run-memory", "600MiB"]) as server:
        assert server.execute(HUNGRY["python"] + "print('ok')", language="python")["stdout"] == "ok\n"


def run_on_command_line(box, language, extension, *flags):
    program = box.write(f"hungry{extension}", HUNGRY[language])
    return box.run("run", *flags, program, env={"HOME": "/root"})


def test_polybox_run_says_so_on_standard_error_and_in_its_report(box):
    done = run_on_command_line(box, "bash", ".sh", "--memory", "64M")
    if "isolation" in done.stderr:
        raise Skip("no cgroup limits memory here")  # noqa: F821
    assert done.stderr.endswith(KILLED.format("64MiB", "--memory")) and done.returncode == 137, done
    report = json.loads(run_on_command_line(box, "bash", ".sh", "--memory", "64M", "--json").stdout)
    assert report["run"]["stderr"].endswith(KILLED.format("64MiB", "--memory")), report


def check_words(result, words, limits):
    note = result["stderr"].splitlines()[-1]
    assert note.startswith(f'polybox: the error output says "{words}"') and limits in note, result
    assert not result["oom_killed"] and result["status"] == "error", result


def test_a_runtime_that_gives_up_by_itself_is_quoted(box):
    server = SERVER.get()
    need(server, "node")
    # Its own heap limit.
    options = {"NODE_OPTIONS": "--max-old-space-size=40"}
    node = server.execute(HUNGRY["node"], language="node", env=options)
    check_words(node, "JavaScript heap out of memory", "memory 256MiB, address space 4GiB")
    # The address space.
    python = server.execute("x = bytearray(3 << 30)", language="python")
    check_words(python, "MemoryError", "memory 256MiB, address space 1GiB")
    if "java" in server.health["languages"]:
        code = ("import java.util.*; public class Main { public static void main(String[] a) { List<int[]> l = "
                "new ArrayList<>(); for (;;) l.add(new int[100000]); } }")
        check_words(server.execute(code, language="java"), "java.lang.OutOfMemoryError", "memory 256MiB")


def test_an_error_that_the_program_caught_is_not_mentioned(box):
    server = SERVER.get()
    need(server, "python")
    code = "import sys\ntry: bytearray(3 << 30)\nexcept MemoryError: print('\\nMemoryError', file=sys.stderr)"
    result = server.execute(code, language="python")
    assert result["stderr"] == "\nMemoryError\n" and result["status"] == "success", result


if has_serve():
    for _language in LARGE_PROGRAMS:
        name = _language.replace("-", "_")
        globals()[f"test_a_large_program_fits_into_the_limits_of_its_compiler_{name}"] = compile_large(_language)
else:
    for _name in [name for name in globals() if name.startswith("test_")]:
        del globals()[_name]
