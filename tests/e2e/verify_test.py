"""Checks small projects with the real tools of their language; tests/verify has the projects and what must come out."""
import json
import subprocess
import tomllib

import projects

# A linter that is built from source, on a busy machine.
PATIENCE = 300
CASE_KEYS = {"name", "check", "args", "files", "remove", "exit", "result", "reason_has", "text_has"}


class Project:
    """A project in a workspace that all cases of a file share, one after the other."""

    def __init__(self, box, directory, cache):
        self.box, self.directory = box, directory
        self.env = box.env(projects.variables() | {"POLYBOX_CACHE_DIR": str(cache)})

    def check(self, *args):
        return subprocess.run([str(self.box.binary), *map(str, args)], env=self.env, cwd=self.directory,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)


def differs(wanted, got):
    """Why an entry of a list is not the one that a case wants; "" if it is."""
    for key, value in wanted.items():
        if key == "output_has":
            if value not in got["output"]:
                return f"output lacks {value!r}"
        elif isinstance(value, dict):
            if why := differs(value, got.get(key, {})):
                return f"{key}: {why}"
        elif got.get(key) != value:
            return f"{key} is {got.get(key)!r}, not {value!r}"
    return ""


def compare_list(name, wanted, got, shown):
    assert len(got) == len(wanted), f"{name}: {len(got)} entries, not {len(wanted)}" + shown
    for entry in wanted:
        reasons = [differs(entry, each) for each in got]
        assert "" in reasons, f"{name}: no entry is {entry}: {reasons}" + shown


def compare(wanted, got, shown):
    for key, value in wanted.items():
        if isinstance(value, list):
            compare_list(key, value, got[key], shown)
        else:
            assert got.get(key) == value, f"{key} is {got.get(key)!r}, not {value!r}" + shown


def prepare(directory, name, case):
    projects.put(directory, name)
    for file in case.get("remove", []):
        (directory / file).unlink()
    for file, text in case.get("files", {}).items():
        path = directory / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    projects.give_away(directory)


def run_case(project, name, case):
    unknown = case.keys() - CASE_KEYS
    assert not unknown, f"unknown keys in the case: {unknown}"
    prepare(project.directory, name, case)
    arguments = [case["check"], project.directory, *case.get("args", [])]
    done = project.check(*arguments, "--json")
    shown = f"\nexit {done.returncode}\nstdout: {done.stdout[:6000]}\nstderr: {done.stderr[:3000]}"
    assert done.returncode == case["exit"], "wrong exit code" + shown
    result = json.loads(done.stdout)["results"][0]
    compare(case.get("result", {}), result, shown)
    for word in case.get("reason_has", []):
        assert word in result["reason"], f"the reason lacks {word!r}" + shown
    left = [path.name for path in project.directory.rglob("*") if "polybox" in path.name]
    assert not left, f"polybox left files in the project: {left}"
    if "text_has" in case:
        text = project.check(*arguments).stdout
        for word in case["text_has"]:
            assert word in text, f"the text lacks {word!r}: {text}"


def run_file(box, file):
    document = tomllib.loads(file.read_text())
    if program := projects.missing(document["needs"]):
        raise Skip(f"{program} is not installed: tools/setup verify-tools")  # noqa: F821 (run.py adds it)
    wrong = []
    with projects.workspace() as (directory, cache):
        project = Project(box, directory, cache)
        for case in document["case"]:
            try:
                run_case(project, document["project"], case)
            except AssertionError as error:
                wrong.append(f"{case['name']}: {error}")
    assert not wrong, "\n\n".join(wrong)


def define_tests():
    for file in sorted(projects.DATA.glob("*.toml")):
        if file.stem == "broken":
            continue

        def test(box, file=file):
            run_file(box, file)
        globals()[f"test_the_cases_of_{file.stem.replace('-', '_')}"] = test


define_tests()
