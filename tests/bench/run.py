#!/usr/bin/env python3
"""Measures polybox beside its peers: programs.toml with contestants.toml, in interleaved rounds and a clean environment.

Usage: run.py [--quick] [--write] [--serve=ARGUMENT...] [WORD...]
  WORD      names of programs or contestants: only those, and always `bare`
  --quick   fewer and shorter rounds
  --write   writes docs/benchmarks.md and docs/benchmarks.svg; needs all programs
  --serve   one more argument for `polybox serve`, such as --serve=--warm=off
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "driver"))

import measure  # noqa: E402
import report  # noqa: E402
import serving  # noqa: E402
from tasks import Contestant, Program, Unfit  # noqa: E402


def table(name):
    return tomllib.loads((HERE / f"{name}.toml").read_text())[name.rstrip("s")]


class Wanted:
    def __init__(self, arguments):
        flags = [word for word in arguments if word.startswith("--")]
        self.serve = [flag.removeprefix("--serve=") for flag in flags if flag.startswith("--serve=")]
        unknown = [flag for flag in flags if flag not in ("--quick", "--write") and not flag.startswith("--serve=")]
        self.write, self.effort = "--write" in flags, measure.QUICK if "--quick" in flags else measure.WHOLE
        words = {word for word in arguments if not word.startswith("--")}
        self.programs, self.contestants = table("programs"), table("contestants")
        names = {row["name"] for row in self.programs}, {row["name"] for row in self.contestants}
        if unknown or words - names[0] - names[1]:
            sys.exit(f"{__doc__}\nunknown: {[*unknown, *(words - names[0] - names[1])]}")
        if self.write and words & names[0]:
            sys.exit("--write needs all programs")
        if words & names[0]:
            self.programs = [row for row in self.programs if row["name"] in words]
        if words & names[1]:
            self.contestants = [row for row in self.contestants if row["name"] in words | {"bare"}]


def languages():
    """By id, as our own binary finds them."""
    asked = subprocess.run([str(serving.BINARY), "languages", "--json"], capture_output=True, text=True, check=True)
    return {row["id"]: row for row in json.loads(asked.stdout) if row["available"]}


def serve(arguments):
    return serving.Server(["--mode", "shell", *arguments])


def build(rows, folder):
    known, programs = languages(), []
    for row in rows:
        try:
            if row["language"] not in known:
                raise Unfit(f"{row['language']} is not available")
            programs.append(Program(row, known[row["language"]], folder))
        except Unfit as reason:
            print(f"{row['name']} is left out: {reason}")
    return programs


def measure_all(workers, programs, contestants, effort):
    results = {}
    for program in programs:
        tasks = {}
        for contestant in contestants:
            try:
                tasks[contestant.name] = measure.check(workers, contestant, program)
            except Unfit as reason:
                if str(reason) != "it is no binary":
                    print(f"{program.name}: {contestant.name} is left out: {reason}")
        if "bare" not in tasks:
            continue
        try:
            results[program.name] = measure.measure(workers, tasks, effort)
        except Unfit as reason:
            print(f"{program.name} is left out: {reason}", flush=True)
            continue
        print(report.program_text(program, contestants, results[program.name]), flush=True)
    return results


def main():
    wanted = Wanted(sys.argv[1:])
    # The packaged interpreters before those of version managers, whose hooks can double their start: for all alike.
    os.environ["PATH"] = "/usr/bin:/bin:" + os.environ["PATH"]
    serving.be_ordinary()
    facts = report.machine_facts()
    if report.warning_of(facts):
        print(f"{facts['busy']:.0%} of this machine is busy: {report.warning_of(facts)}")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="polybox-bench-"))
        os.chmod(folder, 0o755)  # what runs as somebody else must get in
        programs = build(wanted.programs, folder)
        workers = measure.Workers()
        stack.callback(workers.stop)
        for row in wanted.contestants:
            if why := Contestant(row, None, folder).absent():
                print(f"{row['name']} is left out: {why}")
        results = {}
        for arguments in dict.fromkeys(tuple(program.serve) for program in programs):
            with serve([*wanted.serve, *arguments]) as server:
                facts |= {"isolation": server.health["isolation"], "arguments": wanted.serve}
                contestants = [Contestant(row, server, folder) for row in wanted.contestants]
                contestants = [each for each in contestants if not each.absent()]
                its = [program for program in programs if tuple(program.serve) == arguments]
                results |= measure_all(workers, its, contestants, wanted.effort)
        outcome = report.Outcome(facts, programs, contestants, results, table("promises"))
        print(report.promises_text(outcome))
        if wanted.write:
            report.write(outcome)
    return 0 if results else 1


if __name__ == "__main__":
    sys.exit(main())
