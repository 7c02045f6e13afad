#!/usr/bin/env python3
"""What all guests of a kernel share, on a machine whose settings may be changed: the helper of core files, the memory
for translated filters, and the uids of servers that share no namespace. Prints a count.

Runs in the virtual machine of tests/cgroup2/run only. Each check has a canary, which shows that the same done outside
of a jail has the effect.
"""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import slot_uids_test  # noqa: E402 (it is found there)

BINARY = ROOT / "build" / "polybox"
CORE_PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern")
JIT_LIMIT = pathlib.Path("/proc/sys/net/core/bpf_jit_limit")
# In bytes: room for the filters of many guests.
SMALL = str(4 << 20)
# What a busy emulator may need for anything.
PATIENCE = 240
NOBODY = ["prlimit", "--nofile=30000", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]

# The kernel starts it with the name of the program that crashed.
HELPER = "#!/bin/sh\necho >{seen}/$1\n"
CRASH = """\
#include <sys/resource.h>
#include <sys/prctl.h>
#include <stdio.h>
int main(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_NAME, "{name}");
  puts("crashes");
  fflush(stdout);
  __builtin_trap();
}
"""
CRASH_IN_BASH = "ulimit -c 0; echo crashes; kill -SEGV $$\n"
CRASH_IN_PYTHON = """\
import os, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print("crashes", flush=True)
os.abort()
"""

# Holds as many sockets with filters as there can be, and says how many. A filter of 100 instructions is about 5 KB when
# it is translated; more would pass net.core.optmem_max.
FILTERS = """\
import ctypes, errno, resource, socket, struct, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
program = struct.pack("HBBI", 0x20, 0, 0, 0) * 99 + struct.pack("HBBI", 0x06, 0, 0, 0xffff)
held = ctypes.create_string_buffer(program)
option = struct.pack("HxxxxxxP", 100, ctypes.addressof(held))
sockets, attached, why = [], 0, None
try:
    while attached < 20000:
        sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        sockets[-1].setsockopt(socket.SOL_SOCKET, 26, option)
        attached += 1
except OSError as error:
    why = error.errno
print("attached", attached, errno.errorcode.get(why, why), flush=True)
while True:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as another:
            another.setsockopt(socket.SOL_SOCKET, 26, option)
        print("attached another", flush=True)
    except OSError:
        pass
    if "stays" not in sys.argv:
        break
    # The next guest needs a processor too.
    time.sleep(0.02)
"""


class Failure(Exception):
    pass


def need(holds, why):
    if not holds:
        raise Failure(why)


def wait_for(holds, what):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        need(time.monotonic() < deadline, f"in vain: {what}")
        time.sleep(0.05)


def run(*command, cwd):
    return subprocess.run([str(part) for part in command], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE)


@contextlib.contextmanager
def setting(file, value):
    before = file.read_text()
    file.write_text(value)
    try:
        yield
    finally:
        file.write_text(before)


@contextlib.contextmanager
def started(command, out):
    with open(out, "wb") as file:
        process = subprocess.Popen([str(part) for part in command], cwd=out.parent, stdin=subprocess.DEVNULL,
                                   stdout=file, stderr=file)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def test_a_crash_of_a_guest_starts_no_helper(folder):
    seen = folder / "seen"
    seen.mkdir()
    helper = pathlib.Path("/run/helper")
    helper.write_text(HELPER.replace("{seen}", str(seen)))
    helper.chmod(0o755)
    (folder / "crash.c").write_text(CRASH.replace("{name}", "of-a-guest"))
    (folder / "crash.sh").write_text(CRASH_IN_BASH)
    (folder / "crash.py").write_text(CRASH_IN_PYTHON)
    (folder / "canary.c").write_text(CRASH.replace("{name}", "outside"))
    done = run("gcc", "-o", "canary", "canary.c", cwd=folder)
    need(done.returncode == 0, done.stderr)
    with setting(CORE_PATTERN, f"|{helper} %e"):
        for program in (["crash.c"], ["crash.sh"], ["--warm", "crash.py"]):
            done = run(BINARY, "run", *program, cwd=folder)
            need(done.stdout == "crashes\n" and done.returncode not in (0, 1), f"{program}: {done}")
        # The kernel starts a helper before it lets go of the process that crashed: those of guests would be first.
        run("bash", "-c", "ulimit -c 0; exec ./canary", cwd=folder)
        wait_for(lambda: (seen / "outside").exists(), "the helper of a crash outside of a jail")
    started_for = sorted(entry.name for entry in seen.iterdir())
    need(started_for == ["outside"], f"helpers were started for {started_for}")


def starts(folder):
    (folder / "next.sh").write_text("echo started\n")
    return run(BINARY, "run", "next.sh", cwd=folder)


def test_guests_cannot_use_up_the_memory_for_filters(folder):
    (folder / "filters.py").write_text(FILTERS)
    with setting(JIT_LIMIT, SMALL), contextlib.ExitStack() as stack:
        done = starts(folder)
        need(done.stdout == "started\n", f"under this limit: {done}")
        outs = [folder / f"out-{i}" for i in range(4)]
        for out in outs:
            stack.enter_context(started([BINARY, "run", "--timeout=4m", "filters.py", "--", "stays"], out))
        wait_for(lambda: all("attached" in out.read_text() for out in outs), "four guests with filters")
        done = starts(folder)
        need(done.stdout == "started\n", f"beside guests with filters: {done}")
        texts = {out.read_text() for out in outs}
        need(texts == {"attached 0 ENOPROTOOPT\n"}, str(texts))


def test_canary_the_same_loop_outside_uses_the_limit_up(folder):
    (folder / "filters.py").write_text(FILTERS)
    folder.chmod(0o755)
    with setting(JIT_LIMIT, SMALL):
        with started([*NOBODY, "/usr/bin/python3", "filters.py", "stays"], folder / "out") as process:
            wait_for(lambda: (folder / "out").read_text() or process.poll() is not None, "filters outside of a jail")
            words = (folder / "out").read_text().split()
            need(words[:1] == ["attached"] and 0 < int(words[1]) < 20000, f"a process outside: {words}")
            done = starts(folder)
            need(done.stdout != "started\n", "a guest has started where the limit is used up")
        wait_for(lambda: starts(folder).stdout == "started\n", "a guest after the end of the loop")


def test_servers_that_are_process_1_of_a_container_have_other_uids(folder):
    class Box:
        path, binary = folder, BINARY

        @staticmethod
        def write(name, text):
            (folder / name).write_text(text)
            return folder / name

    # In a network namespace of their own they cannot see the names that the others claim.
    slot_uids_test.PID_NAMESPACE.insert(1, "--net")
    slot_uids_test.DEADLINE = PATIENCE
    slot_uids_test.test_servers_that_are_process_1_of_a_container_have_other_uids(Box)


def main():
    if len(sys.argv) > 1 or CORE_PATTERN.read_text().startswith("|") or "unified" != os.uname().nodename:
        print("this changes settings of the machine: it runs in the virtual machine of tests/cgroup2/run only")
        return 2
    tests = {name: value for name, value in globals().items() if name.startswith("test_")}
    failed = 0
    for name, test in tests.items():
        with tempfile.TemporaryDirectory(prefix="polybox-shared-") as folder:
            try:
                test(pathlib.Path(folder))
                print(f"passed: {name}", flush=True)
            except (Failure, AssertionError, subprocess.SubprocessError, OSError) as failure:
                failed += 1
                print(f"failed: {name}: {failure!r}", flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
