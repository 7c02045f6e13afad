"""No crash of a guest starts the host's helper for core files: RLIMIT_CORE is 1 wherever a guest comes from."""
import pathlib
import subprocess
import time

from init_time_test import family_of
from limits_test import environment

DEADLINE = 20
OF_THE_JAIL = ("polybox-slot", "polybox-cell")

# It tries to choose 0, for which the kernel starts a piped helper, in each way that there is.
PROGRAM = r"""
import ctypes, resource, subprocess
before = resource.getrlimit(resource.RLIMIT_CORE)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))
libc = ctypes.CDLL(None)
libc.syscall(160, 4, (ctypes.c_ulong * 2)(0, 0))
by_bash = subprocess.run(["bash", "-c", "ulimit -c 0 && echo went on"], capture_output=True, text=True).stdout
print(before, resource.getrlimit(resource.RLIMIT_CORE), by_bash.strip(), flush=True)
if {wait}:
    while True:
        pass
"""


def run(box, *flags):
    program = box.write("program.py", PROGRAM.replace("{wait}", "False"))
    return box.run("run", *flags, program)


def test_a_guest_cannot_change_the_limit_of_its_core_files(box):
    for flags in ([], ["--warm"]):
        done = run(box, *flags)
        assert done.stdout == "(1, 1) (1, 1) went on\n", (flags, done)


def test_the_limit_holds_for_every_process_of_a_jail(box):
    program = box.write("program.py", PROGRAM.replace("{wait}", "True"))
    with open(box.path / "out", "w+b") as out:
        process = subprocess.Popen([str(box.binary), "run", "--warm", str(program)], stdout=out, stderr=out,
                                   stdin=subprocess.DEVNULL, env=environment(), cwd=box.path)
        try:
            deadline = time.monotonic() + DEADLINE
            while b"went on" not in (box.path / "out").read_bytes():
                assert time.monotonic() < deadline and process.poll() is None, (box.path / "out").read_text()
                time.sleep(0.05)
            seen = {}
            for pid, (name, _, _) in family_of(process.pid).items():
                if pid != process.pid:
                    limits = pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines()
                    seen[f"{name} {pid}"] = next(line.split()[4:6] for line in limits if line.startswith("Max core"))
        finally:
            process.kill()
            process.wait()
    assert {name.split()[0] for name in seen} >= set(OF_THE_JAIL), seen
    assert len(seen) > len(OF_THE_JAIL) and all(limits == ["1", "1"] for limits in seen.values()), seen
