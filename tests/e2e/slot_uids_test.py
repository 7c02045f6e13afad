"""No two servers give their slots the same uids of the host, not even when both are process 1 of a container."""
import os
import pathlib
import subprocess
import time

from init_time_test import stat_of
from limits_test import environment

DEADLINE = 30
PID_NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--"]
SERVERS = 3


def descendants(pid):
    everyone = {int(entry.name): stat for entry in pathlib.Path("/proc").glob("[0-9]*") if (stat := stat_of(entry.name))}
    found = [pid]
    for one in found:
        found += [child for child, stat in everyone.items() if stat[1] == one]
    return {one: everyone[one][0] for one in found if one in everyone}


def ids_of_slot(pid):
    """The uids of the host that the slot below `pid` has; none until there is one with a guest."""
    family = descendants(pid)
    slots = [one for one, name in family.items() if name == "polybox-slot"]
    if not slots or "polybox-cell" not in family.values():
        return set()
    rows = pathlib.Path(f"/proc/{slots[0]}/uid_map").read_text().splitlines()
    return {int(row.split()[1]) for row in rows}


def test_servers_that_are_process_1_of_a_container_have_other_uids(box):
    if os.geteuid() != 0:
        raise Skip("only root gives slots uids of their own")
    program = box.write("program.sh", "sleep 60\n")
    command = [*PID_NAMESPACE, str(box.binary), "run", "--timeout=60s", str(program)]
    processes, seen = [], []
    try:
        # One after the other: the names of their cgroups, which containers do not share, have the time of their start.
        for _ in range(SERVERS):
            processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                              stderr=subprocess.DEVNULL, env=environment(), cwd=box.path))
            deadline = time.monotonic() + DEADLINE
            while not (ids := ids_of_slot(processes[-1].pid)):
                assert time.monotonic() < deadline and processes[-1].poll() is None, seen
                time.sleep(0.05)
            seen.append(ids)
        assert all(process.poll() is None for process in processes), seen
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert all(len(ids) == 2 for ids in seen), seen
    assert len(set.union(*seen)) == 2 * SERVERS, f"servers share uids: {seen}"
