"""TypeScript that is sent as JavaScript: what Node refuses to parse and TypeScript accepts runs as TypeScript, and no
program runs twice. The mechanism is the `fallback` of a language file."""
import base64
import json
import os
import pathlib
import time

import npm_registry
from serving import Server
from http_test import SharedServer, has_serve

PREINSTALLED = pathlib.Path(os.environ.get("POLYBOX_PACKAGES_DIR", "/var/lib/polybox/packages"))
SERVER = SharedServer({"args": ["--mode", "node"]})
TYPED = "interface Pair { a: number; b: string }\nconst pair: Pair = { a: 6, b: 'x' };\nconsole.log(pair.a * 7, pair.b);\n"
BROKEN = "console.log(1);\nlet x = ;\n"


def server(*needed):
    running = SERVER.get()
    for language in needed or ("node", "node-typescript"):
        if language not in running.health["languages"]:
            raise Skip(f"{language} is not available")  # noqa: F821 (run.py puts it here)
    return running


def execute(code, **more):
    return server().execute(code, **more)


def events_of(code, **more):
    answer = server().ask({"path": "/execute", "json": {"code": code} | more, "headers": {"Accept": "text/event-stream"}})
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    events = [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]
    # A busy machine may have something to tell about the progress.
    return [event for event in events if event[0] != "progress"]


def test_typescript_runs_as_typescript_and_the_answer_says_so(box):
    for more in ({}, {"language": "node"}, {"language": "javascript"}):
        result = execute(TYPED, **more)
        assert result["stdout"] == "42 x\n" and result["stderr"] == "", result
        assert (result["language"], result["status"], result["exit_code"]) == ("node-typescript", "success", 0), result


def test_javascript_runs_as_javascript(box):
    for code in ("console.log(6 * 7)", "import fs from 'fs'; console.log(typeof fs.readFileSync && 42)",
                 "#!/usr/bin/env node\nconsole.log(await 42)", "return console.log(42)"):
        result = execute(code)
        assert result["stdout"] == "42\n" and result["language"] == "node", (code, result)


def test_modules_with_types_run_as_typescript(box):
    result = execute("import { readFileSync } from 'fs';\nconst name: string = readFileSync.name;\nconsole.log(name);\n")
    assert result["stdout"] == "readFileSync\n" and result["language"] == "node-typescript", result


def test_input_arguments_files_and_variables_reach_the_second_run_whole(box):
    code = ("import { readFileSync, writeFileSync } from 'fs';\nconst lib = require('./lib');\n"
            "const all: string[] = [readFileSync(0, 'utf8'), ...process.argv.slice(2), process.env.WHO!, lib.word];\n"
            "writeFileSync(process.env.OUTPUT_DIR + '/a.txt', all.join(','));\nconsole.log(all.join(','));\n")
    files = {"lib.js": base64.b64encode(b"exports.word = 'lib';").decode()}
    result = execute(code, stdin="in", args=["one", "two"], env={"WHO": "you"}, files=files)
    assert result["stdout"] == "in,one,two,you,lib\n" and result["language"] == "node-typescript", result
    assert result["files_produced"] == {"a.txt": base64.b64encode(b"in,one,two,you,lib").decode()}, result


def test_when_both_refuse_the_error_is_that_of_node(box):
    for code in (BROKEN, "const x: number = 'no';"):
        result = execute(code)
        assert result["language"] == "node" and result["exit_code"] == 1 and result["stdout"] == "", result
        assert "SyntaxError: " in result["stderr"] and "script.js:" in result["stderr"], result
        assert "compile_output" not in result and "TS" not in result["stderr"], result


def test_a_program_that_fails_at_run_time_runs_once(box):
    """However its failure looks: what it left behind would tell."""
    programs = {
        "an error of its own": "process.stderr.write(__filename + ':1\\nSyntaxError: mine\\n'); process.exitCode = 1;",
        "JSON": "JSON.parse('{')",
        "a thrown one": "throw new SyntaxError('mine')",
        "a module that does not parse": "require('./bad')",
        "its own file, spoilt": "require('fs').writeFileSync(__filename, 'let x: number = 1;');"
                                "process.stderr.write(__filename + ':1\\nSyntaxError: mine\\n'); process.exitCode = 1;",
        "one that runs code": "eval('let x: number = 1')",
    }
    mark = "require('fs').appendFileSync(process.env.OUTPUT_DIR + '/runs', 'x');"
    files = {"bad.js": base64.b64encode(b"let x: number = 1;").decode()}
    for name, code in programs.items():
        result = execute(mark + code, files=files)
        assert result["language"] == "node" and result["status"] == "error", (name, result)
        assert result["files_produced"] == {"runs": base64.b64encode(b"x").decode()}, (name, result)
        assert "SyntaxError" in result["stderr"], (name, result)


def test_files_that_variables_load_first_leave_no_second_run(box):
    files = {"first.js": base64.b64encode(b"console.error('loaded')").decode()}
    result = execute(TYPED, env={"NODE_OPTIONS": "--require ./first.js"}, files=files)
    assert result["language"] == "node" and "loaded" in result["stderr"] and "SyntaxError" in result["stderr"], result


def test_the_event_stream_shows_one_run(box):
    events = events_of(TYPED)
    assert events[:-1] == [("stdout", {"data": "42 x\n"})], events
    assert events[-1][0] == "result" and events[-1][1]["language"] == "node-typescript", events
    events = events_of(BROKEN)
    said = "".join(data["data"] for name, data in events if name == "stderr")
    assert {name for name, _ in events} == {"stderr", "result"} and said == events[-1][1]["stderr"], events
    assert all("step" not in data for name, data in events if name == "stderr"), events


def test_requirements_are_there_in_the_second_run(box):
    needed = {"node", "node-typescript"} - set(server().health["languages"])
    if needed or os.geteuid() != 0:
        raise Skip(f"{needed or 'installers of root'} are not available")  # noqa: F821
    # The preinstalled packages belong to every set.
    modules = PREINSTALLED / "node-typescript/node_modules"
    packages = [npm_registry.package("polybox-word", "1.0.0", "module.exports = 'installed';"),
                *(npm_registry.installed(modules / name) for name in ("lodash", "typescript", "@types/lodash", "@types/node"))]
    with npm_registry.registry(packages) as environment, Server(["--mode", "node"], env=environment) as alone:
        code = "const word: string = require('polybox-word'); console.log(word)"
        result = alone.execute(code, requirements=["polybox-word@1.0.0"], timeout_seconds=60)
        assert result["stdout"] == "installed\n" and result["language"] == "node-typescript", result


def test_the_run_dialect_runs_what_its_request_names(box):
    files = [{"name": "a.js", "content": TYPED}]
    answer = server().ask({"path": "/v1/run", "json": {"runtime": "node", "files": files}}).json()
    assert answer["compile"] is None and answer["run"]["exit_code"] == 1, answer


def test_without_typescript_the_error_is_that_of_node(box):
    with Server(["--mode", "node"], env={"POLYBOX_PACKAGES_DIR": str(box.path / "none")}) as bare:
        if "node" not in bare.health["languages"]:
            raise Skip("node is not available")  # noqa: F821
        assert "node-typescript" not in bare.health["languages"], bare.health
        result = bare.execute(TYPED)
        assert result["language"] == "node" and "SyntaxError" in result["stderr"], result


def test_a_compiler_without_memory_is_named_in_the_error_output(box):
    server()
    with Server(["--mode", "node", "--compile-memory", "48MiB"]) as narrow:
        result = narrow.execute(TYPED)
        answer = narrow.ask({"path": "/execute", "json": {"code": TYPED}, "headers": {"Accept": "text/event-stream"}})
    assert result["language"] == "node" and "SyntaxError: " in result["stderr"], result
    last = result["stderr"].splitlines()[-1]
    assert last.startswith("polybox: as TypeScript: ") and "48MiB" in last and "compile-memory" in last, result
    assert "polybox: as TypeScript: " in answer.text.split("event: result")[0], answer.text


def test_a_compiler_without_time_is_named_in_the_error_output(box):
    server()
    text = (box.root / "languages" / "node-typescript.toml").read_text()
    box.write("languages/node-typescript.toml", text.replace("[compile.limits]\n", '[compile.limits]\nwall_time = "20ms"\n', 1))
    with Server(["--mode", "node", "--languages-dir", str(box.path / "languages")]) as hasty:
        result = hasty.execute(TYPED)
    assert result["language"] == "node" and "SyntaxError: " in result["stderr"], result
    assert result["stderr"].endswith("polybox: as TypeScript: compilation stopped: it ran longer than 20ms\n"), result


def test_interpreters_that_start_cold_fall_back_as_well(box):
    server()
    with Server(["--mode", "node", "--warm=off"]) as cold:
        for code, out, language in ((TYPED, "42 x\n", "node-typescript"), ("console.log(42)", "42\n", "node"),
                                    (BROKEN, "", "node")):
            result = cold.execute(code)
            assert (result["stdout"], result["language"]) == (out, language), (code, result)
            assert ("SyntaxError: " in result["stderr"]) == (code == BROKEN), (code, result)


def test_the_log_names_the_language_that_ran(box):
    server()
    with Server(["--mode", "node"]) as logged:
        logged.execute(TYPED)
        logged.execute(BROKEN)
        ran, deadline = [], time.monotonic() + 10
        # A request's line follows its answer.
        while len(ran) < 2 and time.monotonic() < deadline:
            lines = [json.loads(line) for line in logged.whole_log().splitlines() if line.endswith(b"}")]
            ran = [(line["language"], line["outcome"]) for line in lines if line.get("path") == "/execute"]
    assert ran == [("node-typescript", "exited"), ("node", "exited")], lines


if not has_serve():
    for _name in [name for name in globals() if name.startswith("test_")]:
        del globals()[_name]
