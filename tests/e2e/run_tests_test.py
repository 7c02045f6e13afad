"""tools/run-tests ends a suite whose time is over, and says what a suite lacks."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

TIMEOUT = 60
TREE = """#!/bin/bash
echo $$ >> "$0.pids"
setsid sleep 3600 &
echo $! >> "$0.pids"
(trap '' TERM; setsid bash -c 'trap "" TERM; echo $$ >> "'$0'.pids"; while :; do sleep 3600; done' &)
while [ "$(wc -l < "$0.pids")" -lt 3 ]; do sleep 0.05; done
wait
"""


def make(box, script, limit=60):
    """A tree with the runner and one script; the runner's own words for a run of the suite `browser`."""
    root = box.path / "tree"
    for name in ("tools/run-tests", "tools/within.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(box.root / name, root / name)
    box.write("tree/tests/budgets.tsv", f"browser\t1\t{limit}\tnothing\nall\t1\t1\tnothing\n")
    box.write("tree/tests/allowed_skips", "0\n")
    if script:
        box.write("tree/tests/browser/run", script, 0o755)
    return root


def run(root, *arguments):
    done = subprocess.run([root / "tools/run-tests", *arguments], capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout + done.stderr, done.returncode


def test_a_suite_whose_time_is_over_ends_with_all_of_its_processes(box):
    root = make(box, TREE, limit=2)
    begin = time.monotonic()
    said, code = run(root, "browser")
    assert code != 0 and "ended after 2 s" in said and "0 passed, 1 failed" in said, said
    assert time.monotonic() - begin < 30, said
    for pid in (root / "tests/browser/run.pids").read_text().split():
        state = pathlib.Path(f"/proc/{pid}/stat")
        assert not state.exists() or ") Z " in state.read_text(), f"{pid} lives on"


def test_an_orphan_of_a_suite_is_gone_when_it_has_ended(box):
    """`tail --pid` and the like wait until a process is gone: nobody may leave it as a zombie."""
    orphan = "(sleep 0.1 & echo $! > pid; true)\ntimeout 1.5 tail --pid=$(cat pid) -f /dev/null || echo stays"
    said, code = run(make(box, f"#!/bin/bash\n{orphan}\necho '3 passed, 0 failed, 0 skipped'\n"), "browser")
    assert code == 0 and "stays" not in said, said


def test_a_suite_in_time_is_shown_beside_its_budget(box):
    said, code = run(make(box, "#!/bin/sh\necho '3 passed, 0 failed, 0 skipped'\n"), "browser")
    assert code == 0 and "1 s on an idle machine, at most 60 s" in said and said.endswith("3 passed, 0 failed, 0 skipped\n"), said


def test_a_suite_that_ends_at_once_is_not_missed(box):
    """On a busy machine a script can end before the runner has looked at it for the first time."""
    slow = "import subprocess, time\nstart = subprocess.Popen.__init__\n" \
           "def start_slowly(*a, **k):\n    start(*a, **k)\n    time.sleep(0.5)\nsubprocess.Popen.__init__ = start_slowly\n"
    box.write("site/sitecustomize.py", slow)
    with_it = {**os.environ, "PYTHONPATH": str(box.path / "site")}
    done = subprocess.run([sys.executable, box.root / "tools/within.py", "30", "sh", "-c", "exit 3"], env=with_it, timeout=TIMEOUT)
    assert done.returncode == 3, done


def test_a_suite_that_counts_no_failure_but_ends_with_one_fails(box):
    root = make(box, "#!/bin/sh\necho '3 passed, 0 failed, 0 skipped'\nexit 3\n", limit=50)
    said, code = run(root, "browser")
    assert code != 0 and "browser counted no failure and ended with status 3" in said, said
    assert said.endswith("3 passed, 1 failed, 0 skipped\n"), said
    counted = make(box, "#!/bin/sh\necho '3 passed, 2 failed, 0 skipped'\nexit 1\n", limit=50)
    assert run(counted, "browser")[0].endswith("3 passed, 2 failed, 0 skipped\n")


def test_suites_that_together_take_too_long_fail(box):
    root = make(box, "#!/bin/sh\nsleep 1.2\necho '3 passed, 0 failed, 0 skipped'\n")
    said, code = run(root, "--as", "all", "browser", "browser")
    assert code != 0 and "all took too long: tests/budgets.tsv" in said, said


def test_a_suite_without_its_script_fails_and_names_it(box):
    said, code = run(make(box, None), "browser")
    assert code != 0 and "tests/browser/run is missing: the suite browser cannot run" in said, said


def test_a_suite_without_a_budget_fails_and_names_it(box):
    said, code = run(make(box, None), "containers")
    assert code != 0 and "tests/budgets.tsv has no row for containers" in said, said


def test_every_suite_of_the_makefile_has_a_budget(box):
    rows = [line.split("\t") for line in (box.root / "tests/budgets.tsv").read_text().splitlines() if not line.startswith("#")]
    assert all(len(row) == 4 and 0 < int(row[1]) < int(row[2]) for row in rows), rows
    known = {row[0] for row in rows}
    for line in re.findall(r"^\t.*", (box.root / "Makefile").read_text(), re.MULTILINE):
        for suite in line.partition("tools/run-tests")[2].replace("--as 'make test'", "").split():
            assert suite.startswith(("--", "$(")) or suite in known, suite
