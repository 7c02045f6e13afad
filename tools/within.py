#!/usr/bin/env python3
"""Runs a command for at most so many seconds, and ends it with all of its descendants.

Usage: within.py SECONDS COMMAND [ARGUMENT...]. Exits as the command does, or with 124 when the time was over. A suite of
tests starts programs in sessions of their own, which outlive the suite when it is killed. So this process adopts every
orphan of the command (PR_SET_CHILD_SUBREAPER), and kills what descends from itself and nothing else.
"""
import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time

TIME_OVER = 124
PR_SET_CHILD_SUBREAPER = 36
# Between the request to end and the kill: the command may have mounts and directories to remove.
GRACE = 10
POLL = 0.02
# For a descendant that nobody can kill, such as one that waits for a disk.
MOST_ROUNDS = 500


class Interrupted(Exception):
    """Somebody wants the command to end."""


def interrupt(number, _):
    raise Interrupted(number)


def parents_of_all():
    """The parent of every process, from one look at /proc."""
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
    return parents


def descendants():
    parents = parents_of_all()
    found, new = set(), {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return found


def reap():
    """Takes the exit statuses of all that have ended, adopted orphans too: whoever waits for one of them to be gone would
    wait for ever. By process."""
    ended = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)


def end(leader):
    """Asks the command to end, then kills all that is left of it."""
    until = time.monotonic() + GRACE
    if leader:
        # Between its fork and its exec it has not made its process group yet.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGTERM)
    while leader and time.monotonic() < until and leader not in reap():
        time.sleep(POLL)
    for _ in range(MOST_ROUNDS):
        reap()
        left = descendants()
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        time.sleep(POLL)


def run(seconds, command):
    # The object is kept: when it goes, it takes the exit status of a process that has ended, which reap() then misses.
    process = subprocess.Popen(command, start_new_session=True)
    leader = process.pid
    deadline = time.monotonic() + seconds
    code = None
    try:
        while code is None:
            if time.monotonic() > deadline:
                print(f"{' '.join(command)}: ended after {seconds:g} s", file=sys.stderr, flush=True)
                return TIME_OVER
            time.sleep(POLL)
            code = reap().get(leader)
        return code if code >= 0 else 128 - code
    except Interrupted as signalled:
        return 128 + signalled.args[0]
    finally:
        end(leader if code is None else None)
        process.returncode = code


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # A signal that the caller ignores stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    sys.exit(run(float(sys.argv[1]), sys.argv[2:]))


main()
