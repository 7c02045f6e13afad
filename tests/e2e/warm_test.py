"""The differential test of warm starts: each program of warm/*.toml (warm/README.md has the keys) runs in an
interpreter that is started for it and in one that was there before it, and may not be able to tell.

Two servers, one with --warm=off, serve all programs. The metric of the warm one says whether a run was warm; one that
was not, because no interpreter was ready, is repeated.
"""
import base64
import difflib
import pathlib
import re
import threading
import time
import tomllib

import serving
import traces
from http_test import SharedServer, has_serve
from serving import Server

HERE = pathlib.Path(__file__).resolve().parent
WARM_TIMEOUT = 40

FILE_KEYS = {"language", "entry", "probe", "program"}
PROGRAM_KEYS = {"name", "code", "code_base64", "door", "files", "args", "env", "stdin", "limits", "exit", "signal", "silent",
                "normalise", "cold", "fresh", "before", "outputs"}
# Where the kernel puts things is different in each process.
ALWAYS_NORMALISED = [[r"0x[0-9a-f]{6,16}", "0xADDRESS", "addresses are random"]]
COMPARED = {
    "execute": ("status", "stdout", "stderr", "exit_code", "signal", "files_produced", "files_left_out", "timed_out",
                "oom_killed", "stdout_truncated", "stderr_truncated"),
    "run": ("stdout", "stderr", "exit_code", "status", "signal"),
}


class Servers:
    """The two, and a lock per language: between two looks at the metric nobody else may run it."""

    def __init__(self):
        self.cold = SharedServer({"args": ["--warm=off"]})
        self.warm = SharedServer({"args": ["--warm=on"]})
        self.locks, self.mutex = {}, threading.Lock()

    def lock(self, language):
        with self.mutex:
            return self.locks.setdefault(language, threading.Lock())


def request_of(language, entry, program):
    """The same program through either door; /v1/run takes programs and shows outputs that are no text."""
    files = program.get("files", {})
    if program.get("door", "execute") == "run":
        code = program.get("code_base64") or base64.b64encode(program["code"].encode()).decode()
        listed = [{"name": entry, "content": code, "base64_encoded": True}]
        listed += [{"name": name, "content": text} for name, text in files.items()]
        body = {"runtime": language, "files": listed}
        if "stdin" in program:
            body["stdin"] = {"content": program["stdin"]}
        return {"path": "/v1/run", "json": body}
    body = {"language": language, "code": program["code"],
            "files": {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}}
    body |= {key: program[key] for key in ("args", "env", "stdin", "limits") if key in program}
    return {"path": "/execute", "json": body}


def result_of(door, answer):
    assert answer.status == 200, answer
    result = answer.json()
    if door == "run":
        result = result["run"]
        for stream in ("stdout", "stderr"):
            # As in Python, so that every byte counts and can be shown.
            result[stream] = base64.b64decode(result[stream]).decode("utf-8", "backslashreplace")
    return {key: result.get(key) for key in COMPARED[door]}


def normalised(program, result):
    changed = dict(result)
    for pattern, replacement, _reason in ALWAYS_NORMALISED + program.get("normalise", []):
        for stream in ("stdout", "stderr"):
            changed[stream] = re.sub(pattern, replacement, changed[stream], flags=re.MULTILINE)
    return changed


def warm_runs(server, language):
    """How many there were, through any door."""
    text = server.ask({"method": "GET", "path": "/metrics"}).text
    counts = re.findall(rf'^polybox_warm_runs_total{{language="{language}",.*}} (\d+)$', text, re.MULTILINE)
    return sum(map(int, counts))


def run_once(server, corpus, program):
    door = program.get("door", "execute")
    return result_of(door, server.ask(request_of(corpus["language"], corpus["entry"], program)))


def run_warm(server, corpus, program):
    """The result of a run that was warm; the caller holds the language's lock."""
    deadline = time.monotonic() + WARM_TIMEOUT
    while time.monotonic() < deadline:
        before = warm_runs(server, corpus["language"])
        result = run_once(server, corpus, program)
        if warm_runs(server, corpus["language"]) > before:
            return result
        time.sleep(0.05)
    raise AssertionError(f"it is never warm, but: {result}\n{server.said()}")


def run_not_warm(server, corpus, program):
    """The result of a run that the server does not give to an interpreter that is ready."""
    run_warm(server, corpus, {"code": corpus["probe"]})
    before = warm_runs(server, corpus["language"])
    result = run_once(server, corpus, program)
    assert warm_runs(server, corpus["language"]) == before, f"it was warm: {result}"
    return result


def difference(cold, warm):
    lines = []
    for key in cold:
        if cold[key] != warm[key]:
            sides = [str(side[key]).splitlines(keepends=True) for side in (cold, warm)]
            lines += difflib.unified_diff(*sides, f"cold {key}", f"warm {key}", n=1)
            lines.append("\n")
    return "".join(lines)[:6000]


def check_sense(program, cold):
    """Two programs that both fail for a reason that nobody meant would be the same, too."""
    code = program.get("exit", -1 if "signal" in program and program.get("door") != "run" else 0)
    assert (cold["exit_code"], cold["signal"]) == (code, program.get("signal")), f"it does not work: {cold}"
    assert program.get("silent") or cold["stdout"] or cold["stderr"], "it shows nothing"
    if program.get("cold") == "interpreter":
        assert "cold: true" in (cold["stdout"] + cold["stderr"]).lower(), f"it does not say how it started: {cold}"


def check_same(program, cold, warm):
    check_sense(program, cold)
    if "outputs" in program:
        found = {"cold": cold["stdout"], "warm": warm["stdout"]}
        assert found == program["outputs"], found
        return
    cold, warm = normalised(program, cold), normalised(program, warm)
    assert cold == warm, "warm and cold differ\n" + difference(cold, warm)


def check_fresh(program, results):
    """What must be new each time cannot be compared with a cold start, but each with the next."""
    for result in results:
        check_sense(program, result)
    shown = [result["stdout"] for result in results]
    lines = list(zip(*(text.splitlines() for text in shown)))
    assert lines, shown
    for values in lines:
        assert len(set(values)) == len(values), f"not fresh: {values}"


def check_probe(server, corpus, program):
    """Files may make an interpreter start again, which the metric does not know: another program beside them tells."""
    probe = {key: value for key, value in program.items() if key in ("files", "env", "args")} | {"code": corpus["probe"]}
    assert run_warm(server, corpus, probe)["stdout"] == "cold: False\n", "its files made it start cold"


def run_program(corpus, program, servers):
    unknown = program.keys() - PROGRAM_KEYS
    assert not unknown, f"unknown keys in the program: {unknown}"
    cold_server, warm_server = servers.cold.get(), servers.warm.get()
    language = corpus["language"]
    if language not in warm_server.health["languages"]:
        raise Skip(f"{language} is not available")  # noqa: F821 (run.py puts it here)
    runner = run_not_warm if program.get("cold") == "server" else run_warm
    with servers.lock(language):
        for code in program.get("before", []):
            run_once(cold_server, corpus, {"code": code})
            run_warm(warm_server, corpus, {"code": code})
        if "files" in program and "cold" not in program:
            check_probe(warm_server, corpus, program)
        warm = runner(warm_server, corpus, program)
        if program.get("fresh"):
            check_fresh(program, [warm] + [runner(warm_server, corpus, program) for _ in range(2)])
    if not program.get("fresh"):
        check_same(program, run_once(cold_server, corpus, program), warm)


NUMPY = """import sys
is_loaded = "numpy" in sys.modules
import numpy
drawn = [numpy.random.random(), numpy.random.randint(1 << 60), numpy.random.default_rng().random()]
drawn.append(numpy.random.RandomState().random_sample())
numpy.random.seed(7)
assert is_loaded and numpy.random.random() == numpy.random.RandomState(7).random_sample(), is_loaded
print(*drawn, sep="\\n")
"""


def test_numpy_that_is_loaded_ahead_draws_other_random_numbers_in_each_run(box):
    # Debian's own Python, for which the set-up has installed it.
    args = ["--warm=on", "--preload", "python=numpy", "--mode", "python"]
    with serving.Server(args, path="/usr/bin:/bin") as server:
        if server.execute("import numpy", language="python")["exit_code"] != 0:
            raise Skip("numpy is not installed for /usr/bin/python3")  # noqa: F821
        corpus, program = {"language": "python", "entry": "script.py"}, {"code": NUMPY}
        check_fresh(program, [run_warm(server, corpus, program) for _ in range(3)])


def collect():
    servers = Servers()
    for file in sorted((HERE / "warm").glob("*.toml")):
        corpus = tomllib.loads(file.read_text())
        unknown = corpus.keys() - FILE_KEYS
        assert not unknown, f"unknown keys in {file}: {unknown}"
        for program in corpus["program"]:
            name = "test_" + re.sub(r"\W+", "_", f"{file.stem}: {program['name']}")
            assert name not in globals(), f"two programs are called {name}"
            globals()[name] = lambda box, corpus=corpus, program=program: run_program(corpus, program, servers)


def interpreters(server):
    """A zygote in each slot, and a guest that was forked from it and waits."""
    return [one for one in traces.descendants(server.process.pid) if "/.warm/start" in one.command]


def proportional_kib(process):
    rollup = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
    return int(re.search(r"^Pss: +(\d+) kB$", rollup, re.MULTILINE)[1])


def test_memory_of_an_idle_server_with_four_warm_python_slots(box):
    """What SPECIFICATION.md promises, with the packaged interpreter: another one may load more by itself."""
    server = Server(["--mode", "python", "--warm-slots", "4"], path="/usr/bin:/bin")
    try:
        settled = lambda: len(interpreters(server)) == 8
        traces.await_true(settled, "four slots with a zygote and a guest each")
        before = {one.pid for one in interpreters(server)}
        assert run_warm(server, {"language": "python", "entry": "main.py"}, {"code": "print(1)"})["stdout"] == "1\n"
        traces.await_true(lambda: settled() and before != {one.pid for one in interpreters(server)},
                          "the next guest in the slot that was used")
        processes = [server.process.pid] + [one.pid for one in traces.descendants(server.process.pid)]
        kib = sum(proportional_kib(one) for one in processes)
        assert kib < 60 * 1024, f"{kib} KiB"
    finally:
        server.stop()


test_memory_of_an_idle_server_with_four_warm_python_slots.alone = True


if has_serve():
    collect()
