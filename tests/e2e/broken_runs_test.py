"""Runs of green projects that something breaks: the tool is killed, its output or report is cut, its exit code is another.
None may come out green. tests/verify/broken.toml has the checks and the damages."""
import json
import os
import tomllib

import projects
from mcp_client import Server, request

PATIENCE = 300
CALLS = 0


def languages_with_shims(box):
    """Copies of the language files in which the directory `shims` of a project comes before PATH."""
    directory = box.path / "languages"
    directory.mkdir(exist_ok=True)
    for name in ("go", "python"):
        lines = (projects.ROOT / f"languages/{name}.toml").read_text().splitlines()
        begin = lines.index("[verify]")
        lines = [line for i, line in enumerate(lines) if i < begin or not line.startswith("path = ")]
        lines.insert(begin + 1, 'path = ["shims"]')
        (directory / f"{name}.toml").write_text("\n".join(lines) + "\n")
    return directory


def call(server, tool, **arguments):
    global CALLS
    CALLS += 1
    server.send(request(CALLS, "tools/call", name=tool, arguments=arguments))
    result = server.take(timeout=PATIENCE)["result"]
    return {"error": result["content"][0]["text"]} if result["isError"] else result["structuredContent"]


def put_project(workspace, index, check):
    """A copy of the project with the stand-in for its tool. Returns its directory and that of the records."""
    directory, store = workspace / f"p{index}", workspace / f".store{index}"
    directory.mkdir()
    projects.put(directory, check["project"])
    for name in check.get("remove", []):
        (directory / name).unlink()
    for name, text in check.get("files", {}).items():
        (directory / name).write_text(text)
    (directory / "shims").mkdir()
    shim = directory / "shims" / check["tool"]
    text = (projects.DATA / "damaged-tool.sh").read_text().replace("@STORE@", f"{workspace}/.store{index}")
    shim.write_text(text)
    shim.chmod(0o755)
    store.mkdir()
    return directory, store


def verdict_of(server, directory, store, check, damage):
    """The verdict, and whether the damage changed anything that polybox sees."""
    (store / "damage").write_text(damage["script"] + "\n")
    (store / "changed").unlink(missing_ok=True)
    limit = {"timeout": damage["timeout"]} if "timeout" in damage else {}
    answer = call(server, check["call"], path=directory.name, **limit)
    # A tool that was killed or hangs did not come to the end of the stand-in.
    changed = (store / "changed").exists() or "kill" in damage["script"] or "sleep" in damage["script"]
    return answer, changed


def test_no_broken_run_is_green(box):
    document = tomllib.loads((projects.DATA / "broken.toml").read_text())
    if program := projects.missing([check["tool"] for check in document["check"]]):
        raise Skip(f"{program} is not installed: tools/setup verify-tools")  # noqa: F821 (run.py adds it)
    green, checked = [], 0
    with projects.workspace() as (workspace, cache):
        places = [put_project(workspace, i, check) for i, check in enumerate(document["check"])]
        for path in workspace.rglob("*"):
            if path.name.startswith(".store"):
                path.chmod(0o777)
        projects.give_away(workspace)
        env = box.env(projects.variables() | {"POLYBOX_CACHE_DIR": str(cache)})
        command = [box.binary, "mcp", "--workspace", workspace, "--tools", "all", "--languages-dir", languages_with_shims(box)]
        with Server(command, env=env, cwd=box.path) as server:
            for check, (directory, store) in zip(document["check"], places):
                name = f"{check['call']} of {check['project']}"
                answer, _ = verdict_of(server, directory, store, check, {"script": ":"})
                assert answer.get("verdict") == "passed", f"{name} without damage: {json.dumps(answer)[:3000]}"
                for damage in document["damage"]:
                    answer, changed = verdict_of(server, directory, store, check, damage)
                    checked += changed
                    if changed and answer.get("verdict") == "passed":
                        green.append(f"{name}, {damage['name']}")
            assert server.end()[0] == 0
    assert not green, f"green: {green}"
    assert checked > 6 * len(document["check"]), f"only {checked} damages changed anything"


def test_a_missing_tool_is_an_error_that_names_it(box):
    rows = [("run_tests", "run_tests: pytest: not found on PATH"),
            ("run_lint", "linter not installed: ruff"),
            ("run_typecheck", "run_typecheck: mypy: not found on PATH")]
    with projects.workspace() as (workspace, cache):
        projects.put(workspace, "python")
        projects.give_away(workspace)
        # Only the interpreter and the usual programs.
        usual = [each for each in ("/usr/bin", "/bin") if os.path.isdir(each)]
        env = box.env({"PATH": ":".join(usual), "POLYBOX_CACHE_DIR": str(cache)})
        with Server([box.binary, "mcp", "--workspace", workspace, "--tools", "all"], env=env, cwd=box.path) as server:
            for tool, words in rows:
                answer = call(server, tool)
                assert answer.get("error", "").startswith(words), answer
            assert server.end()[0] == 0
