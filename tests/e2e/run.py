#!/usr/bin/env python3
"""Runs the end-to-end tests against build/polybox, or the binary that POLYBOX names: the cases of cases/*.toml and the functions of *_test.py. POLYBOX_SERVE has arguments for
every server that is started.

A case is data (cases/README.md has its keys); a function `test_*` takes a Box, and one that has the attribute `alone`
runs when nothing else does, because it measures. All run in an environment of their
own: an empty home, and of our variables only PATH. Usage: run.py [--untimed] [WORD...] runs those whose name has all the words
(`a|b` is either). --untimed leaves out those that measure (`alone`, `timed`), for builds that are slow by nature.
"""
import builtins
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "driver"))

import serving  # noqa: E402 (it is found there)

BINARY = serving.BINARY
TIMEOUT = 60


class Skip(Exception):
    """Raised by a test that cannot run on this machine, with the reason."""


class Box:
    """A temporary home and a way to run polybox in it."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder)
        self.binary = BINARY
        self.root = ROOT

    def write(self, name, text, mode=0o644):
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def env(self, extra=None):
        clean = serving.SETTINGS | {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path / "home"),
            "POLYBOX_CACHE_DIR": str(self.path / "cache"),
            "POLYBOX_PACKAGES_DIR": str(self.path / "packages"),
        }
        return clean | (extra or {})

    def run(self, *args, env=None, cwd=None):
        return subprocess.run(
            [str(BINARY), *map(str, args)], env=self.env(env), cwd=cwd or self.path,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT)

    def languages(self, *args, env=None):
        """`polybox languages --json` as a dictionary by id."""
        done = self.run("languages", "--json", *args, env=env)
        assert done.returncode == 0, done.stderr
        return {language["id"]: language for language in json.loads(done.stdout)}


def expand(value, box):
    """Replaces {tmp} and {root} in all texts of a case."""
    if isinstance(value, str):
        return value.replace("{tmp}", str(box.path)).replace("{root}", str(box.root))
    if isinstance(value, list):
        return [expand(item, box) for item in value]
    if isinstance(value, dict):
        return {expand(key, box): expand(item, box) for key, item in value.items()}
    return value


def pick(document, path):
    """The value at `a.b.c`; a list of objects is entered by id or name."""
    for part in path.split("."):
        if isinstance(document, list):
            document = next(item for item in document if part in (item.get("id"), item.get("name")))
        else:
            document = document[part]
    return document


CASE_KEYS = {"name", "args", "env", "files", "exit", "stdout", "stdout_has", "stdout_lacks", "stderr", "stderr_has",
             "json"}


def run_case(case, box):
    unknown = case.keys() - CASE_KEYS
    assert not unknown, f"unknown keys in the case: {unknown}"
    case = expand(case, box)
    for name, text in case.get("files", {}).items():
        box.write(name, text)
    done = box.run(*case["args"], env=case.get("env"))
    shown = f"\nexit {done.returncode}\nstdout: {done.stdout}\nstderr: {done.stderr}"
    assert done.returncode == case.get("exit", 0), "wrong exit code" + shown
    for stream in ("stdout", "stderr"):
        text = getattr(done, stream)
        if stream in case:
            assert text == case[stream], f"{stream} differs" + shown
        for part in case.get(stream + "_has", []):
            assert part in text, f"{stream} lacks {part!r}" + shown
    for part in case.get("stdout_lacks", []):
        assert part not in done.stdout, f"stdout has {part!r}" + shown
    for path, wanted in case.get("json", {}).items():
        got = pick(json.loads(done.stdout), path)
        assert got == wanted, f"{path} is {got!r}, not {wanted!r}" + shown


def collect():
    """(name, function of a Box) for every test."""
    builtins.Skip = Skip  # for every test file, also where another one imports it first
    tests = []
    for file in sorted((HERE / "cases").glob("*.toml")):
        for case in tomllib.loads(file.read_text())["case"]:
            tests.append((f"{file.stem}: {case['name']}", lambda box, case=case: run_case(case, box)))
    for file in sorted(HERE.glob("*_test.py")):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module  # so that a later one can look at what it did
        spec.loader.exec_module(module)
        for name, function in vars(module).items():
            if name.startswith("test_"):
                tests.append((f"{file.stem}: {name[5:].replace('_', ' ')}", function))
    return tests


def run_one(test):
    name, function = test
    with tempfile.TemporaryDirectory(prefix="polybox-e2e-") as folder:
        try:
            function(Box(folder))
            return name, "passed", ""
        except Skip as reason:
            return name, "skipped", str(reason)
        except Exception:
            return name, "failed", traceback.format_exc(limit=-2)


def is_wanted(test, words, untimed):
    name, function = test
    if untimed and (getattr(function, "alone", False) or getattr(function, "timed", False)):
        return False
    return all(any(part in name for part in word.split("|")) for word in words)


def main():
    if not BINARY.exists():
        sys.exit(f"{BINARY} is not there: run make test")
    words = [word for word in sys.argv[1:] if word != "--untimed"]
    tests = [test for test in collect() if is_wanted(test, words, "--untimed" in sys.argv)]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    together = [test for test in tests if not getattr(test[1], "alone", False)]
    alone = [test for test in tests if getattr(test[1], "alone", False)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [*pool.map(run_one, together), *map(run_one, alone)]
    results += [("a shared server ends well", "failed", complaint) for complaint in serving.stop_all()]
    for name, outcome, text in results:
        counts[outcome] += 1
        if outcome != "passed":
            print(f"{outcome}: {name}\n{text}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
