"""What a server leaves on its host: processes, cgroups, mounts and files, seen from outside it."""
import collections
import contextlib
import os
import pathlib
import signal
import tempfile
import time

# A busy machine takes its time to end processes; none of this is about speed.
PATIENCE = 20

Process = collections.namedtuple("Process", "pid parent start command")


def processes():
    """By pid; those that are only waiting to be reaped do not count."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue  # it has just ended
        if fields[0] != "Z":
            found[int(entry.name)] = Process(int(entry.name), int(fields[1]), int(fields[19]), command)
    return found


def marked(mark):
    """Processes whose command line begins with it."""
    return [process for process in processes().values() if process.command.startswith(mark)]


def descendants(root):
    known, found, grown = processes(), {root}, True
    while grown:
        more = {process.pid for process in known.values() if process.parent in found}
        grown = not more <= found
        found |= more
    return [known[pid] for pid in found if pid != root and pid in known]


def await_true(claim, what):
    deadline = time.monotonic() + PATIENCE
    while not (got := claim()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return got


class Program:
    """A shell program that starts a child and sleeps, so that its processes can be told from all others."""

    made = 0

    def __init__(self):
        Program.made += 1
        self.mark = f"sleep 600.{os.getpid()}{Program.made:04}"
        self.code = f"{self.mark} & echo ready; {self.mark}"

    def await_running(self):
        return await_true(lambda: len(marked(self.mark)) == 2 and marked(self.mark), "the program does not run")

    def end(self):
        """Lets it end by itself, as soon as the test wants that."""
        for process in marked(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)

    def await_gone(self):
        await_true(lambda: not marked(self.mark), f"guests are still there: {marked(self.mark)}")


def slot_init_of(server, program):
    """The child of the server above the program."""
    process = program.await_running()[0]
    known = processes()
    while process.parent != server.process.pid:
        process = known[process.parent]
    return process


class Traces:
    """Made while the server runs; `check` after its end."""

    def __init__(self, server):
        self.pid = server.process.pid
        self.folder = server.folder.name
        self.processes = set()
        self.look()

    def look(self):
        """Notes what runs now; call it again when there is more."""
        self.processes |= {(process.pid, process.start) for process in descendants(self.pid)}

    def left(self):
        now = processes()
        left = [now[pid] for pid, start in self.processes if pid in now and now[pid].start == start]
        own = f"polybox-{self.pid}-"
        for folder, names, _ in os.walk("/sys/fs/cgroup"):
            left += [f"{folder}/{name}" for name in names if name.startswith(own)]
        left += [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                 if self.folder in line or own in line]
        return left + [str(file) for file in pathlib.Path(tempfile.gettempdir()).glob(own + "*")]

    def check(self):
        await_true(lambda: not self.left(), f"left behind: {self.left()}")
