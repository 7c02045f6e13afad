"""The limits of a whole run where there are no cgroups: a watchdog counts memory, processes and processor time.

Each program is tried in every grade without cgroups, by each kind of user that can have it.
"""
import contextlib
import functools
import json
import os
import pathlib
import subprocess
import tempfile
import time

import serving
from limits_test import override

LIMITS = {"processes": 32, "memory": "256MiB", "disk": "200MiB", "cpu_time": "1s", "wall_time": "30s"}
NOTE = "limits: no cgroups here: a watchdog counts memory, processes and processor time every 20 ms"

# How polybox is started -> the grades in which programs run then.
NO_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--"]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
STARTS = {
    "root_of_a_user_namespace": (["unshare", "-r"], ("rootless", "landlock")),
    "root_without_capabilities": (NO_RIGHTS, ("landlock",)),
    "nobody": (NOBODY, ("rootless", "landlock")),
}

FORKS = """
import os, sys, time
for _ in range(200):
    try:
        if os.fork() == 0:
            time.sleep(25)
            os._exit(0)
    except OSError:
        print("refused")
        sys.exit()
time.sleep(25)
"""

# Eight processes with 100 MiB each.
ALLOCATES = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = b"x" * (100 << 20)
        time.sleep(25)
        os._exit(0)
time.sleep(25)
"""

# The first thread of a process ends, and another one goes on.
LEAVES_TO_A_THREAD = """
import ctypes, os, threading, time
c = ctypes.CDLL(None)
def leave_to(work):
    def join_and_work():
        c.pthread_join(ctypes.c_ulong(threading.main_thread().ident), None)
        work()
    threading.Thread(target=join_and_work).start()
    c.syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
"""

ALLOCATES_IN_A_THREAD = LEAVES_TO_A_THREAD + """
def work():
    held = b"x" * (100 << 20)
    time.sleep(25)
    os._exit(0)
for _ in range(8):
    if os.fork() == 0:
        leave_to(work)
time.sleep(25)
"""

# In parts, so that no process needs much memory itself.
FILLS_IN_A_THREAD = LEAVES_TO_A_THREAD + """
def work():
    for directory in ("/sandbox", "/tmp", "/dev/shm"):
        for part in range(25):
            try:
                with open(f"{directory}/{part}", "wb") as file:
                    file.write(b"x" * (8 << 20))
            except OSError:
                break
    time.sleep(25)
    os._exit(0)
leave_to(work)
"""

SHARES = """
import os, time
held = b"x" * (100 << 20)
for _ in range(8):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
for _ in range(8):
    os.wait()
print("shared", len(held))
"""

SPINS = """
import os
for _ in range(3):
    if os.fork() == 0:
        break
while True:
    pass
"""

# Always a few processes, never the same.
RUNS_AWAY = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        while True:
            if os.fork():
                os._exit(0)
            os.setsid()
time.sleep(25)
"""


class Start:
    """polybox as that user starts it, in a folder of its own."""

    def __init__(self, folder, prefix, grade):
        self.path = pathlib.Path(folder)
        self.path.chmod(0o777)
        self.grade = grade
        self.command = [*prefix, serving.copy_of(serving.BINARY, self.path)]
        for name in ("tmp", "languages"):
            (self.path / name).mkdir()
            (self.path / name).chmod(0o777)
        text = (serving.ROOT / "languages" / "python.toml").read_text()
        (self.path / "languages" / "python.toml").write_text(override(text, LIMITS, ("run",)))

    def run(self, code, *args):
        """The report of a program, of which nothing is left when this returns."""
        mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
        (self.path / "code.py").write_text(code)
        env = serving.SETTINGS | {"PATH": "/usr/bin:/bin", "HOME": str(self.path / "tmp"), "TMPDIR": str(self.path / "tmp")}
        done = subprocess.run([*self.command, "run", "--json", f"--isolation={self.grade}", "--min-isolation=landlock",
                               "--languages-dir", str(self.path / "languages"), *args, str(self.path / "code.py"), "--",
                               mark], env=env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=50)
        assert done.stdout, done.stderr
        assert left(mark) == [], left(mark)
        report = json.loads(done.stdout)
        assert report["isolation"] == self.grade, report
        assert NOTE in report["isolation_notes"], report
        return report["run"]


def left(mark):
    """The processes that have the mark among their arguments."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def each(check, only=None):
    """The check as a test for each start and grade, or that grade only: test_NAME_in_GRADE_as_START."""
    for name, (prefix, grades) in STARTS.items():
        for grade in grades:
            if only not in (None, grade):
                continue
            def test(box, name=name, prefix=prefix, grade=grade):
                if os.geteuid() != 0:
                    raise Skip("only root can be these users")
                with tempfile.TemporaryDirectory() as folder:
                    check(Start(folder, prefix, grade), name)
            globals()[f"test_{check.__name__}_in_{grade}_as_{name}"] = test


@each
def too_many_processes_are_refused_or_end_the_run(start, name):
    run = start.run(FORKS)
    refused = (run["end"], run["stdout"]) == ("exited", "refused\n")
    assert refused or run["end"] == "process_limit", run
    # The kernel refuses nothing to uid 0. In landlock it counts other programs of nobody too, which may end meanwhile.
    assert not refused or name == "nobody", run
    assert refused or (start.grade, name) != ("rootless", "nobody"), run


@each
def memory_of_all_processes_together_is_limited(start, name):
    run = start.run(ALLOCATES)
    assert (run["end"], run["signal"]) == ("out_of_memory", "SIGKILL"), run
    assert run["oom_kills"] >= 2 and run["memory_peak_bytes"] > 256 << 20, run
    assert "polybox: killed: out of memory (limit 256MiB" in run["stderr"], run


@each
def memory_counts_when_the_first_thread_has_ended(start, name):
    run = start.run(ALLOCATES_IN_A_THREAD)
    assert (run["end"], run["signal"]) == ("out_of_memory", "SIGKILL"), run
    assert run["memory_peak_bytes"] > 256 << 20, run


@functools.partial(each, only="rootless")
def scratch_space_in_memory_counts_when_the_first_thread_has_ended(start, name):
    run = start.run(FILLS_IN_A_THREAD)
    assert (run["end"], run["signal"]) == ("out_of_memory", "SIGKILL"), run


@each
def memory_that_processes_share_counts_once(start, name):
    run = start.run(SHARES)
    assert (run["end"], run["stdout"]) == ("exited", f"shared {100 << 20}\n"), run


@each
def processor_time_of_all_processes_together_is_limited(start, name):
    run = start.run(SPINS)
    assert run["end"] == "cpu_limit", run
    assert 900 <= run["cpu_user_ms"] + run["cpu_system_ms"] <= 2000, run


@each
def processes_that_are_never_the_same_end_with_the_run(start, name):
    run = start.run(RUNS_AWAY, "--timeout=700ms")
    assert run["end"] in ("timed_out", "process_limit", "cpu_limit"), run


def test_processes_of_the_same_uid_in_another_container_do_not_count(box):
    if os.geteuid() != 0:
        raise Skip("only root can be these users")
    # A PID namespace in which the others cannot be seen.
    others = [subprocess.Popen([*NOBODY, "sleep", "50"]) for _ in range(60)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            prefix = ["unshare", "--pid", "--fork", "--mount-proc", *NOBODY]
            run = Start(folder, prefix, "landlock").run("import os\nif os.fork():\n    print(os.wait()[1])\n")
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert (run["end"], run["stdout"]) == ("exited", "0\n"), run


FORKS_WHEN_TOLD = """
import os
print("ready", flush=True)
input()
if os.fork():
    print(os.wait()[1])
"""


def test_processes_that_another_run_of_the_uid_starts_later_do_not_make_a_fork_fail(box):
    if os.geteuid() != 0:
        raise Skip("only root can be these users")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as others:
        start = Start(folder, NOBODY, "landlock")
        (start.path / "code.py").write_text(FORKS_WHEN_TOLD)
        run = subprocess.Popen([*start.command, "run", "--isolation=landlock", "--min-isolation=landlock",
                                "--languages-dir", str(start.path / "languages"), str(start.path / "code.py")],
                               env=box.env() | {"HOME": str(start.path / "tmp"), "TMPDIR": str(start.path / "tmp")},
                               cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert run.stdout.readline() == "ready\n"
        for _ in range(60):
            other = others.enter_context(subprocess.Popen(["sleep", "50"], user=65534, group=65534, extra_groups=[]))
            others.callback(other.kill)
        assert run.communicate("\n", timeout=50)[0] == "0\n"


def test_doctor_says_who_counts_where_there_are_no_cgroups(box):
    if os.geteuid() != 0:
        raise Skip("only root can be these users")
    with tempfile.TemporaryDirectory() as folder:
        start = Start(folder, NOBODY, "rootless")
        done = subprocess.run([*start.command, "doctor", "--json"], env=box.env() | {"HOME": str(start.path / "tmp")},
                              cwd="/", capture_output=True, text=True, timeout=60)
    host = {check["name"]: check for check in json.loads(done.stdout)["host"]}
    assert "a watchdog counts" in host["cgroups"]["cost"], host["cgroups"]
    assert NOTE in host["a program in a slot"]["found"], host["a program in a slot"]
