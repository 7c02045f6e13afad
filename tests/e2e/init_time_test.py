"""What a guest can make polybox's own processes use of a processor: they are outside the guest's cgroup.

Each program wakes its cell's init, or the process that reads its output, in a loop. Meanwhile the processor time of
polybox's own processes is read from /proc of the host.
"""
import os
import pathlib
import subprocess
import time

import serving
from limits_test import environment, write_language

# Of one processor.
MOST = 0.05
# How long is measured, when the program is at work.
SECONDS = 2.0
TIMEOUT = "30s"
DEADLINE = 20
TICKS = os.sysconf("SC_CLK_TCK")
OWN = {"polybox", "polybox-slot", "polybox-cell"}

SAYS_SO = "import os, sys, time\n"

FINDS_WORD = r"""
import ctypes, re
place = next((line for line in open('/proc/self/maps') if 'memfd:polybox' in line), None)
if place is None:
    sys.exit('no word')
address = int(place.split('-')[0], 16)
word = ctypes.c_uint32.from_address(address)
"""

WAKES = r"""
import platform
futex = ctypes.CDLL(None).syscall
number = 202 if platform.machine() == 'x86_64' else 98
arguments = (ctypes.c_long(number), ctypes.c_void_p(address), 1, 1)
while True:
    futex(*arguments); word.value = 1 << 11; futex(*arguments); word.value = 1 << 12
"""

LISTS_INTERFACES = r"""
import socket
if os.fork() == 0:
    while True:
        try:
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
        except OSError:
            pass
"""

# (name, language, code). None of them ends by itself.
WAYS = {
    "writes its last word": ("python", SAYS_SO + FINDS_WORD + r"""
while True:
    word.value = 1 << 10; word.value = 1 << 11; word.value = 1 << 12; word.value = 1 << 13
"""),
    "says that its init was interrupted": ("python", SAYS_SO + FINDS_WORD + r"""
while True:
    word.value = 1 << 9
"""),
    "wakes those who sleep on its last word": ("python", SAYS_SO + FINDS_WORD + WAKES),
    "stops and goes on": ("python", SAYS_SO + r"""
import signal
leader = os.getpid()
if os.fork():
    while True:
        time.sleep(1)
while True:
    os.kill(leader, signal.SIGSTOP); os.kill(leader, signal.SIGCONT)
"""),
    "leaves orphans": ("c", r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static char one[65536], two[65536];
static int nothing(void *unused) { return 0; }
static int parent(void *unused) {
  for (int i = 0; i < 8; i++) clone(nothing, two + sizeof two, CLONE_VM | SIGCHLD, 0);
  return 0;
}
int main(void) {
  while (1) {
    int child = clone(parent, one + sizeof one, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
    if (child > 0) waitpid(child, 0, 0);
  }
}
"""),
    "sends signals to process 1": ("python", SAYS_SO + r"""
import signal
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    while True:
        try:
            os.kill(1, signal.SIGHUP); os.kill(1, signal.SIGUSR1)
        except PermissionError:
            time.sleep(0.001)
while True:
    try:
        os.kill(1, signal.SIGUSR2)
    except PermissionError:
        time.sleep(0.001)
"""),
    "lists interfaces and wakes those who sleep on its last word": ("python", SAYS_SO + FINDS_WORD + LISTS_INTERFACES +
                                                                    WAKES),
    "lists interfaces and leaves orphans": ("c", r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
static char one[65536], two[65536];
static int nothing(void *unused) { return 0; }
static int parent(void *unused) {
  for (int i = 0; i < 8; i++) clone(nothing, two + sizeof two, CLONE_VM | SIGCHLD, 0);
  return 0;
}
int main(void) {
  if (fork() == 0) {
    while (1) {
      int made = socket(AF_NETLINK, SOCK_RAW, 0);
      if (made >= 0) close(made);
    }
  }
  while (1) {
    int child = clone(parent, one + sizeof one, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
    if (child > 0) waitpid(child, 0, 0);
  }
}
"""),
    "writes byte after byte": ("c", r"""
#include <stdio.h>
#include <unistd.h>
int main(void) {
  while (1) {
    for (volatile int i = 0; i < 10000; i++) ;
    if (write(1, "x", 1) < 0 || write(2, "x", 1) < 0) return 1;
  }
}
"""),
    "sleeps when little of its processor time is left": ("c", r"""
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void) {
  struct timespec used;
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  while (used.tv_sec < 1 && used.tv_nsec < 970000000);
  while (1) sleep(1);
}
"""),
}


LIMITS = {"sleeps when little of its processor time is left": {"cpu_time": "1s"},
          "writes byte after byte": {"output": "1000MiB"}}
ENDINGS = {"python": ".py", "c": ".c"}


def stat_of(pid):
    """Name, parent's number and ticks used; None when the process is gone."""
    try:
        name, _, rest = pathlib.Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        fields = rest.split()
        return name, int(fields[1]), int(fields[11]) + int(fields[12])
    except (FileNotFoundError, ProcessLookupError):
        return None


def family_of(pid):
    """All processes from `pid` down: number -> (name, parent, ticks)."""
    everyone = {int(entry.name): stat for entry in pathlib.Path("/proc").glob("[0-9]*") if (stat := stat_of(entry.name))}
    family, found = {}, [pid]
    while found:
        one = found.pop()
        if one in everyone:
            family[one] = everyone[one]
        found += [child for child, stat in everyone.items() if stat[1] == one]
    return family


def is_at_work(family):
    """Whether a process of a guest has used a tenth of a second, or waits after more than that."""
    def is_guest(parent):
        return parent in family and (family[parent][0] == "polybox-cell" or is_guest(family[parent][1]))
    return any(ticks >= TICKS / 10 for _, parent, ticks in family.values() if is_guest(parent))


def shares_used(pid):
    """What each of polybox's own processes uses of a processor, by name and number."""
    before, begin = family_of(pid), time.monotonic()
    # sleeps: this is the time over which the shares are measured.
    time.sleep(SECONDS)
    after, seconds = family_of(pid), time.monotonic() - begin
    return {f"{name} {one}": (ticks - before[one][2]) / TICKS / seconds for one, (name, _, ticks) in after.items()
            if name in OWN and one in before}


def await_rest_of_start(pid):
    """Until polybox's own processes have used no tick of the processor for a tenth of a second, which is within any share
    that a program may cost. If that does not come, the measurement tells."""
    deadline, before = time.monotonic() + 2, None
    while time.monotonic() < deadline:
        now = {one: ticks for one, (name, _, ticks) in family_of(pid).items() if name in OWN}
        if now == before:
            return
        before = now
        time.sleep(0.1)


def await_work(process, log):
    deadline = time.monotonic() + DEADLINE
    while not is_at_work(family_of(process.pid)):
        assert process.poll() is None, f"ended: {log.read_text()}"
        assert time.monotonic() < deadline, "the program is not at work"
        time.sleep(0.05)
    await_rest_of_start(process.pid)


def try_way(box, name, starter=(), binary=None):
    language, code = WAYS[name]
    if name in LIMITS:
        write_language(box, language, LIMITS[name])
    program, log = box.write(f"program{ENDINGS[language]}", code), box.path / "log"
    command = [*starter, str(binary or box.binary), "run", f"--timeout={TIMEOUT}", str(program)]
    command += ["--warm"] if language == "python" else []
    command += ["--languages-dir", str(box.path / "languages")] if name in LIMITS else []
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=out, stdin=subprocess.DEVNULL,
                                   
                                   env=environment() | {"POLYBOX_CACHE_DIR": str(box.path / "cache")}, cwd=box.path)
    try:
        await_work(process, log)
        shares = shares_used(process.pid)
        assert process.poll() is None, f"ended: {log.read_text()}"
    finally:
        process.kill()
        process.wait()
    assert any(one.startswith("polybox-cell") for one in shares), shares
    assert sum(shares.values()) <= MOST, f"of a processor, polybox itself used {shares}"


def add(name):
    def test(box):
        try_way(box, name)

    def test_rootless(box):
        if os.geteuid() != 0:
            raise Skip("the other tests are rootless")
        box.path.chmod(0o777)
        binary = serving.copy_of(box.binary, box.path)
        try_way(box, name, ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"], binary)
    title = "test_a_guest_that_" + name.replace(" ", "_") + "_costs_polybox_little"
    globals()[title] = test
    globals()[title + "_rootless"] = test_rootless


for way in WAYS:
    add(way)
