#!/usr/bin/env python3
"""Writes the results of `make test-deep` to docs/deep-tests.md. Usage: deep_page.py SUITE...

Each suite has a row with the commit that it ran on. Suites that did not run now keep the row of their last run. Results come
from build/results/SUITE.
"""
import datetime
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "deep-tests.md"
HEAD = """# Deep tests

Made by `make test-deep`; do not edit. These suites take longer than CI has time for. Each row is the last run of its suite.

- `attacks-deep`: the attacks in the weaker isolation grades, in every way to start them.
- `release-reuse-off`: the unit tests with `POLYBOX_REUSE=off`, where slots use nothing again. Tests of reuse itself skip.
- `attacks-reuse-off`: the attacks of `make test` with `POLYBOX_REUSE=off`.
- `e2e-reuse-off`: the end-to-end tests with `POLYBOX_REUSE=off`, without those that measure. Tests of reuse itself skip.
- `reuse`: 100,000 random sequences of system calls, 4,000 in each of 25 tests; what the next guest finds afterwards.
- `cgroup2`: limits and attacks in a virtual machine with cgroup v2.
- `containers`: polybox in containers with less than all rights.
- `browser`: web pages of other origins, and the console, in a real browser.

| suite | passed | failed | skipped | seconds | commit | date | kernel | processors |
|---|---:|---:|---:|---:|---|---|---|---:|
"""


def commit():
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    # The page itself may have changed by an earlier run.
    changed = git("status", "--porcelain", "--", ".", f":!{PAGE.relative_to(ROOT)}")
    return git("rev-parse", "--short=10", "HEAD") + (" with changes" if changed else "")


def row(suite):
    passed, failed, skipped, seconds = (ROOT / "build" / "results" / suite).read_text().split()
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    cells = [suite, passed, failed, skipped, seconds, commit(), date, os.uname().release, len(os.sched_getaffinity(0))]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    rows = {}
    if PAGE.exists():
        rows = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE.read_text().splitlines()
                if re.match(r"\| [a-z0-9-]+ \| \d", line)}
    rows |= {suite: row(suite) for suite in sys.argv[1:]}
    PAGE.write_text(HEAD + "".join(f"{line}\n" for _, line in sorted(rows.items())))


main()
