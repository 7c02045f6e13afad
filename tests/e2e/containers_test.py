"""polybox in containers, and in a jail of its own. The containers are those of tests/containers/configurations.toml."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import serving
from run_test import jailed

CONTAINERS = serving.ROOT / "tests" / "containers"
SECONDS = 900


def start_containers(box, *words):
    return subprocess.Popen([str(CONTAINERS / "run"), *words], env=dict(os.environ) | {"POLYBOX": str(box.binary)},
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def counts_of(process):
    """(passed, failed); ends the script so that it can clean up if it takes too long."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    counts = re.search(r"(\d+) passed, (\d+) failed, (\d+) skipped\n\Z", out)
    assert counts, (out, err)
    if int(counts[3]) > 0:
        raise Skip(out)  # noqa: F821 (given by run.py)
    assert counts[2] == "0", out
    return int(counts[1])


def test_programs_run_in_the_best_isolation_that_a_container_allows(box):
    assert counts_of(start_containers(box)) >= 8


def left_by(pid):
    name = f"polybox-containers-{pid}"
    cgroups = [path for pattern in (name, f"*/{name}") for path in pathlib.Path("/sys/fs/cgroup").glob(pattern)]
    return [*cgroups, *pathlib.Path(tempfile.gettempdir()).glob(f"{name}-*")]


def end_in_a_container(box, number):
    """The pid of a script that gets the signal while its container runs."""
    process = start_containers(box, "Kubernetes, root with RuntimeDefault")
    with process:
        limit = time.monotonic() + SECONDS
        while not any(path.is_relative_to("/sys/fs/cgroup") for path in left_by(process.pid)):
            if process.poll() is not None:
                raise Skip(process.stdout.read())  # noqa: F821 (given by run.py)
            assert time.monotonic() < limit
            time.sleep(0.01)
        process.send_signal(number)
    return process.pid


def test_the_containers_script_leaves_nothing_behind_when_it_is_ended(box):
    pid = end_in_a_container(box, signal.SIGTERM)
    assert not left_by(pid), left_by(pid)


def test_the_containers_script_removes_what_a_killed_one_left(box):
    pid = end_in_a_container(box, signal.SIGKILL)
    assert left_by(pid)
    assert counts_of(start_containers(box, "Kubernetes, root with RuntimeDefault")) == 1
    assert not left_by(pid), left_by(pid)


INSIDE = """
cp polybox box && chmod +x box
echo 'echo hello' > hello.sh
# The default one does not allow to execute what a compiler made.
export TMPDIR=$PWD
./box run --json --cache-dir=/nowhere hello.sh > refused.json 2> refused.txt
echo $? > refused.code
python3 inside.py ./box --isolation=none --min-isolation=none > inside.json
for file in inside.json refused.code refused.txt; do echo "== $file"; cat $file; done
"""


def language_file(box):
    """Bash with room for a server."""
    text = (serving.ROOT / "languages" / "bash.toml").read_text()
    for limit in ("processes", "open_files"):
        text, count = re.subn(rf"^{limit} = .*", f"{limit} = 256", text, flags=re.M)
        assert count == 1, text
    return box.write("languages/bash.toml", text).parent


def inside_a_jail(box, grade, *flags):
    """What inside.py finds in an outer jail of that grade; None where this host does not give it."""
    stripped = box.path / "polybox"
    subprocess.run(["strip", "-o", str(stripped), str(box.binary)], check=True)
    done = jailed(box, f"--isolation={grade}", f"--min-isolation={grade}", f"--languages-dir={language_file(box)}",
                  "--memory=1G", *flags, box.write("inside.sh", INSIDE), stripped, CONTAINERS / "inside.py")
    if f"isolation {grade} is needed" in done.stderr:
        return None
    parts = dict(part.split("\n", 1) for part in done.stdout.split("== ")[1:])
    assert parts["refused.code"] != "0\n" and "fix: " in parts["refused.txt"], parts
    found = json.loads(parts["inside.json"])
    doctor = json.loads(found["doctor"]["out"])
    assert doctor["isolation"] == "none" and not doctor["can_run"], doctor
    assert all(check["fix"] for check in doctor["host"] if not check["ok"]), doctor
    return found


def test_in_a_jail_of_polybox_programs_run_in_grade_none_when_it_is_asked_for(box):
    found_in = {}
    for grade in ("full", "rootless"):
        # With egress, because the loopback interface is down without it.
        found_in[grade] = inside_a_jail(box, grade, "--guest-egress=example.org")
    found_in = {grade: found for grade, found in found_in.items() if found is not None}
    if not found_in:
        raise Skip("neither full nor rootless works here")  # noqa: F821 (run.py puts it here)
    for grade, found in found_in.items():
        for language, done in found["run"].items():
            report = json.loads(done["out"])
            assert (report["isolation"], report["run"]["stdout"]) == ("none", "hello\n"), (grade, language, done)
            assert any(note.startswith("child subreaper: ") for note in report["isolation_notes"]), report
        for name in ("execute", "again", "command", "uploaded"):
            answer = found["serve"].get(name)
            assert answer and answer["status"] == 200, (grade, found["serve"])
            result = json.loads(answer["body"])
            assert (result["stdout"], result["isolation"]) == ("hello\n", "none"), (grade, result)
        assert json.loads(found["serve"]["after"]["body"])["status"] == "healthy", found["serve"]


def test_in_a_landlock_jail_of_polybox_nothing_runs_and_the_reason_is_said(box):
    found = inside_a_jail(box, "landlock")
    if found is None:
        raise Skip("landlock does not work here")  # noqa: F821 (run.py puts it here)
    for done in [*found["run"].values(), found["serve"]]:
        assert done["code"] == 1 and "open /proc/self/stat: Permission denied" in done["err"], done
        assert "fix: let polybox read /proc" in done["err"], done
