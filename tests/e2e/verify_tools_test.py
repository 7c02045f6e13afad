"""The tools of agents that check projects, over `polybox mcp`: choosing a language, nested projects, reruns and memory."""
import contextlib
import json

import projects
from mcp_client import Server, request

PATIENCE = 300
PASSING_GO = "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n"


class Agent:
    """Calls tools of one server."""

    def __init__(self, server):
        self.server, self.last = server, 0

    def answer(self, tool, /, **arguments):
        self.last += 1
        self.server.send(request(self.last, "tools/call", name=tool, arguments=arguments))
        return self.server.take(timeout=PATIENCE)["result"]

    def call(self, tool, /, **arguments):
        result = self.answer(tool, **arguments)
        assert not result["isError"], result
        return result["content"][0]["text"], result["structuredContent"]

    def error(self, tool, /, **arguments):
        result = self.answer(tool, **arguments)
        assert result["isError"], result
        return result["content"][0]["text"]


def need(*programs):
    if program := projects.missing(programs):
        raise Skip(f"{program} is not installed: tools/setup verify-tools")  # noqa: F821 (run.py adds it)


@contextlib.contextmanager
def agent(box, directory, cache, *flags):
    env = box.env(projects.variables() | {"POLYBOX_CACHE_DIR": str(cache)})
    command = [box.binary, "mcp", "--workspace", directory, "--tools", "all", *flags]
    with Server(command, env=env, cwd=box.path) as server:
        yield Agent(server)
        assert server.end()[0] == 0, server.errors


def ids(data):
    return sorted(failure["id"].rsplit(".", 1)[-1] for failure in data["results"][0]["failures"])


def test_a_polyglot_project_needs_a_choice_and_all_keeps_the_results_apart(box):
    need("go", "pytest")
    with projects.workspace() as (directory, cache):
        projects.put(directory, "python")
        for name, text in (("go.mod", "module example.com/x\n\ngo 1.24\n"), ("x.go", "package x\n")):
            (directory / name).write_text(text)
        projects.give_away(directory)
        with agent(box, directory, cache) as tools:
            assert tools.error("run_tests") == (
                "polyglot workspace: 2 project types detected (go, python) — pass `language` to pick one")
            assert tools.error("run_lint", language="rust") == (
                'language "rust" not detected in workspace; detected: go, python')
            text, data = tools.call("run_tests", language="all")
            assert [result["language"] for result in data["results"]] == ["go", "python"], data
            assert [result["verdict"] for result in data["results"]] == ["nothing_ran", "failed"], data
            assert data["verdict"] == "nothing_ran" and text.endswith("exit: 1\n"), text
            assert "tests" not in data["results"][0], "nothing ran, so there are no counts"


def test_an_unknown_project_is_an_error_with_its_markers_and_a_nested_one_is_found_by_its_path(box):
    need("go")
    with projects.workspace() as (directory, cache):
        nested = directory / "services" / "größe"
        nested.mkdir(parents=True)
        projects.put(nested, "go")
        (nested / "calc/calc_test.go").write_text(PASSING_GO)
        (directory / "build.zig").write_text("")
        projects.give_away(directory)
        with agent(box, directory, cache) as tools:
            error = tools.error("run_tests")
            assert error.startswith(f"run_tests: no Detector registered for workspace at {directory} (found markers: "
                                    "build.zig) — this build ships "), error
            assert " detectors. Open an issue or fork the image to add a new detector." in error, error
            assert "--languages-dir" in error, error
            text, data = tools.call("run_tests", path="services/größe")
            assert data["verdict"] == "passed" and data["results"][0]["project"] == "services/größe", data
            assert text.startswith("go (services/größe): passed: 1 passed, 0 failed, 0 errored, 0 skipped\n"
                                   "$ go test -json -count=1 ./...\n") and text.endswith("\nexit: 0\n"), text
            assert tools.error("run_tests", path="..") == "path: path is outside workspace root"


def test_failures_are_run_again_by_name_and_remembered_across_servers(box):
    need("go")
    with projects.workspace() as (directory, cache):
        projects.put(directory, "go")
        projects.give_away(directory)
        with agent(box, directory, cache) as tools:
            data = tools.call("run_tests")[1]
            failed = ids(data)
            assert len(failed) == 2 and data["verdict"] == "failed", data
        with agent(box, directory, cache) as tools:
            text, data = tools.call("last_test_failures")
            assert text.startswith("2 test failure(s) from last run_tests call (go, "), text
            text, data = tools.call("run_failing_tests")
            assert ids(data) == failed and data["results"][0]["tests"]["failed"] == 1, data
            assert "-run '^(TestTable|TestDivideByZero)$'" in text or "-run '^(TestDivideByZero|TestTable)$'" in text, text
            (directory / "calc/calc_test.go").write_text(
                (directory / "calc/calc_test.go").read_text().replace("2, 2, 5", "2, 2, 4").replace("1, 0", "0, 1"))
            text, data = tools.call("run_failing_tests")
            assert data["verdict"] == "passed", text
            assert "nothing to rerun (go)" in tools.call("run_failing_tests")[0]
            assert "had no failures" in tools.call("last_test_failures")[0]


def test_a_rerun_that_selects_nothing_is_an_error_and_forgets_nothing(box):
    need("go")
    with projects.workspace() as (directory, cache):
        projects.put(directory, "go")
        projects.give_away(directory)
        with agent(box, directory, cache) as tools:
            assert tools.call("run_tests")[1]["verdict"] == "failed"
            (directory / "calc/calc_test.go").write_text(PASSING_GO)
            error = tools.error("run_failing_tests")
            assert error.startswith("run_failing_tests: the runner found none of the 2 failed test(s): "), error
            assert tools.call("last_test_failures")[0].startswith("2 test failure(s) "), "they are still known"


def test_tests_that_do_not_compile_are_no_run_without_failures(box):
    need("go")
    with projects.workspace() as (directory, cache):
        projects.put(directory, "go")
        (directory / "calc/calc_test.go").write_text("package calc\n\nfunc x() { undefinedName() }\n")
        projects.give_away(directory)
        with agent(box, directory, cache) as tools:
            text, data = tools.call("run_tests")
            assert data["verdict"] == "build_failed" and "tests" not in data["results"][0], data
            assert "calc/calc_test.go:3:12: undefined: undefinedName\n" in text and text.endswith("exit: 1\n"), text
            last = tools.call("last_test_failures")[0]
            assert last.startswith("last run_tests could not build the tests (go, ") and "undefinedName" in last, last


def test_a_script_that_nobody_can_read_is_unreadable_and_a_missing_one_is_named(box):
    need("npm")
    scripts = {"test": "echo all is well", "lint": "echo 2 problems; exit 1", "greet": "echo hello"}
    with projects.workspace() as (directory, cache):
        (directory / "package.json").write_text(json.dumps({"name": "x", "scripts": scripts}))
        projects.give_away(directory)
        with agent(box, directory, cache) as tools:
            for tool in ("run_tests", "run_lint"):
                text, data = tools.call(tool)
                assert data["verdict"] == "unreadable", data
                assert "findings_count" not in data["results"][0] and "0 findings" not in text, text
                assert data["results"][0]["log"], data
            assert tools.error("run_script", name="x") == (
                'run_script: no script named "x" in package.json; available: greet, lint, test')
            assert tools.error("run_script") == "run_script: name is required"
            text, data = tools.call("run_script", name="greet", arguments=["it's", "$me"])
            assert "hello it's $me" in text and text.endswith("exit: 0\n") and data["exit_code"] == 0, text


def test_a_large_output_is_parsed_to_its_end_and_a_timeout_ends_the_tree(box):
    need("go")
    loud = ("package calc\n\nimport (\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc TestLoud(t *testing.T) {\n"
            "\tfor i := 0; i < 40000; i++ {\n\t\tt.Log(strings.Repeat(\"x\", 60))\n\t}\n}\n\n"
            "func TestZLast(t *testing.T) {\n\tt.Fatal(\"the last one\")\n}\n")
    with projects.workspace() as (directory, cache):
        projects.put(directory, "go")
        (directory / "calc/calc_test.go").write_text(loud)
        projects.give_away(directory)
        with agent(box, directory, cache) as tools:
            text, data = tools.call("run_tests")
            assert ids(data) == ["TestZLast"] and "the last one" in text and len(text) < 40000, text[:2000]
            (directory / "calc/calc_test.go").write_text(
                "package calc\n\nimport \"testing\"\n\nfunc TestHang(t *testing.T) {\n\tselect {}\n}\n")
            (directory / "calc/wait.go").write_text(
                "package calc\n\nimport \"time\"\n\nfunc init() {\n\tgo time.Sleep(time.Hour)\n}\n")
            text, data = tools.call("run_tests", timeout=20)
            assert data["verdict"] == "timed_out" and text.endswith("timed out after 20s\nexit: 124\n"), text
