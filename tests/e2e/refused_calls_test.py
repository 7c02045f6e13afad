"""Programs run where a seccomp profile refuses what polybox would like to use: the jail is then made by other means."""
import json
import os
import re
import subprocess
import tempfile
import time

from run_test import HELLO, available, jailed
import serving

REFUSE = serving.ROOT / "tests" / "containers" / "refuse.py"
PROBE = """
import os, socket
print(os.getpid(), sorted(name for name in os.listdir("/proc") if name.isdigit()))
print(sorted(line.split()[0] for line in open("/proc/net/dev") if ":" in line), socket.gethostname())
print([open("/proc/self/" + name).read().split() for name in ("uid_map", "projid_map")][1])
print([line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "NoNewPrivs", "Seccomp:"))])
"""


def refused(box, refusals, *args):
    return subprocess.run([REFUSE, *refusals, "--", str(box.binary), "run", *map(str, args)], env=box.env(), cwd=box.path,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def grades(box):
    doctor = json.loads(box.run("doctor", "--json").stdout)
    order = ["landlock", "rootless", "full"]
    return order[:order.index(doctor["isolation"]) + 1] if doctor["isolation"] in order else []


def need(box, grade):
    if grade not in grades(box):
        raise Skip(f"this host does not give {grade}")  # noqa: F821 (given by run.py)


def test_programs_run_in_every_grade_without_clone3(box):
    need(box, "landlock")
    for grade in grades(box):
        for language in ("bash", "python", "node", "c"):
            if language not in available(box):
                continue
            name, code = HELLO[language]
            done = refused(box, ["clone3=ENOSYS"], f"--isolation={grade}", f"--min-isolation={grade}",
                           box.write(name, code))
            assert (done.returncode, done.stdout) == (0, "hello\n"), (grade, language, done)


def test_a_jail_without_clone3_is_the_same_jail(box):
    need(box, "rootless")
    file = box.write("probe.py", PROBE)
    for grade in grades(box)[1:]:
        flags = [f"--isolation={grade}", f"--min-isolation={grade}"]
        usual = jailed(box, *flags, file)
        without = refused(box, ["clone3=ENOSYS"], *flags, file)
        assert usual.returncode == 0 and usual.stdout.startswith("2 ['2']\n"), usual
        assert without.stdout == usual.stdout, (grade, usual, without)


def test_interpreters_that_are_forked_start_cold_without_clone3(box):
    need(box, "full")
    for language, warm in (("python", False), ("node", True)):
        if language not in available(box):
            continue
        name, code = HELLO[language]
        # The name of the programs that Node.js is started ahead for.
        file = box.write("script" + name[name.rindex("."):], code)
        done = refused(box, ["clone3=ENOSYS"], "--json", "--warm", file)
        run = json.loads(done.stdout)["run"]
        assert (run["stdout"], run["warm"]) == ("hello\n", warm), run


def test_a_name_that_cannot_be_set_is_shown_and_told(box):
    need(box, "rootless")
    done = refused(box, ["sethostname=EPERM"], box.write("name.sh", "uname -n"))
    assert (done.returncode, done.stdout) == (0, os.uname().nodename + "\n"), done
    assert "the host's name: Operation not permitted" in done.stderr, done


def test_doctor_names_a_refused_call_with_its_cost(box):
    usual = json.loads(box.run("doctor", "--json").stdout)["isolation"]
    calls = {"clone3=ENOSYS": ("clone3", "Function not implemented")}
    if grades(box)[1:]:
        calls["sethostname=EPERM"] = ("own host name", "Operation not permitted")
    for refusal, (name, reason) in calls.items():
        done = subprocess.run([REFUSE, refusal, "--", str(box.binary), "doctor", "--json"], env=box.env(),
                              capture_output=True, text=True, timeout=60)
        report = json.loads(done.stdout)
        assert report["isolation"] == usual, report
        found = next(check for check in report["host"] if check["name"] == name)
        assert not found["ok"] and found["found"] == reason and found["cost"] and found["fix"], found


def test_a_grade_that_does_not_work_gives_way_to_the_next_with_the_reason(box):
    need(box, "rootless")
    file = box.write("hello.sh", "echo hello")
    done = refused(box, ["open_tree=EPERM"], "--json", "--min-isolation=landlock", file)
    report = json.loads(done.stdout)
    assert (report["isolation"], report["run"]["stdout"]) == ("landlock", "hello\n"), report
    assert any("rootless" in note and "Operation not permitted" in note for note in report["isolation_notes"]), report
    assert "a stronger isolation grade does not work on this host" in done.stderr, done
    # Below the minimum there is nothing, and the reason is the same.
    done = refused(box, ["open_tree=EPERM"], file)
    assert done.returncode == 1 and "no program can run: " in done.stderr and "fix: " in done.stderr, done


def test_a_limit_that_leaves_no_room_for_any_program_is_named_with_its_remedy(box):
    if os.geteuid() != 0:
        raise Skip("other processes of this uid would count")  # noqa: F821 (given by run.py)
    box.path.chmod(0o755)
    binary = serving.copy_of(box.binary, box.path)
    file = box.write("hello.sh", "echo hello")
    for limit, reason, advice in (("--nproc=5:5", "Resource temporarily unavailable", "ulimit -u"),
                                  ("--nofile=20:20", "Too many open files", "ulimit -n")):
        done = subprocess.run(["setpriv", "--reuid=64124", "--regid=64124", "--clear-groups", "prlimit", limit, binary, "run",
                               "--min-isolation=landlock", file], env=box.env(), cwd="/", capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 1 and reason in done.stderr and advice in done.stderr.splitlines()[-1], (limit, done)


def test_doctor_names_the_grade_in_which_a_program_has_run(box):
    need(box, "rootless")
    done = subprocess.run([REFUSE, "open_tree=EPERM", "--", str(box.binary), "doctor", "--json"], env=box.env(),
                          capture_output=True, text=True, timeout=60)
    report = json.loads(done.stdout)
    assert report["isolation"] == "landlock", report
    found = next(check for check in report["host"] if check["name"] == "a program in a slot")
    assert not found["ok"] and "runs in grade landlock; " in found["found"] and found["fix"], found


def test_a_server_runs_programs_in_the_grade_that_health_names(box):
    need(box, "rootless")
    prefix = (str(REFUSE), "open_tree=EPERM", "clone3=ENOSYS", "--")
    server = serving.Server(["--min-isolation=landlock"], prefix=prefix)
    try:
        assert server.health["isolation"] == "landlock" and server.health["status"] == "healthy", server.health
        result = server.execute("echo hello", language="bash")
        assert (result["stdout"], result["isolation"]) == ("hello\n", "landlock"), result
        assert result["isolation_notes"], result
    finally:
        server.end()


# A root without a writable directory for temporary files but $TMPDIR, which is a file system of its own.
ONE_DIRECTORY = """
set -e
mount --rbind /tmp /tmp
mount --bind "$PWD" "$PWD"
mount -o remount,bind,ro /tmp
for directory in /var/tmp /run /dev/shm; do mount -t tmpfs -o ro none $directory; done
mount -t tmpfs none "$TMPDIR"
exec "$@"
"""


def await_ready(server, status):
    limit = time.monotonic() + 60
    while (answer := server.ask({"method": "GET", "path": "/readyz"})).status != status:
        assert time.monotonic() < limit, str(answer)
        time.sleep(0.1)
    return answer.json()


def test_a_server_that_loses_its_ground_is_not_ready_until_it_has_it_again(box):
    if "full" not in grades(box) or tempfile.gettempdir() != "/tmp":
        raise Skip("needs root, and temporary files in /tmp")  # noqa: F821 (given by run.py)
    directory = box.path / "temporary"
    directory.mkdir()
    server = serving.Server(["--isolation=landlock", "--min-isolation=landlock"], env={"TMPDIR": str(directory)},
                            prefix=("unshare", "--mount", "--propagation=private", "sh", "-c", ONE_DIRECTORY, "sh"))
    try:
        inside = ["nsenter", f"--mount=/proc/{server.process.pid}/ns/mnt"]
        assert server.health["status"] == "healthy", server.health
        subprocess.run([*inside, "umount", "--lazy", str(directory)], check=True)
        reasons = await_ready(server, 503)["reasons"]
        assert any(reason.startswith("no program can run: ") for reason in reasons), reasons
        assert server.ask({"method": "GET", "path": "/health"}).json()["status"] == "unhealthy"
        subprocess.run([*inside, "mount", "-t", "tmpfs", "none", str(directory)], check=True)
        await_ready(server, 200)
        assert server.execute("echo hello", language="bash")["stdout"] == "hello\n"
    finally:
        server.end()


ROOTS = {
    "root of a user namespace of one uid": (["unshare", "-r"], "rootless", "own uid per slot"),
    "root without any capability": (["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"], "landlock",
                                    "id maps"),
    "root that may become another uid and no more": (
        ["setpriv", "--bounding-set=-all,+setuid,+setgid", "--inh-caps=-all"], "landlock",
        "own uid per slot: uid 0 that may not use other uids: Operation not permitted (it lacks CAP_CHOWN, "
        "CAP_DAC_OVERRIDE, CAP_KILL)"),
}


def test_root_with_less_than_all_rights_runs_programs(box):
    need(box, "full")
    for who, (prefix, grade, reason) in ROOTS.items():
        command = [*prefix, str(box.binary)]
        doctor = subprocess.run([*command, "doctor", "--json"], env=box.env(), capture_output=True, text=True, timeout=60)
        host = json.loads(doctor.stdout)
        assert host["isolation"] == grade, (who, host)
        assert not any("run polybox as root" in check.get("fix", "") for check in host["host"]), (who, host)
        for language in ("bash", "c"):
            name, code = HELLO[language]
            done = subprocess.run([*command, "run", "--json", "--min-isolation=landlock", box.write(name, code)],
                                  env=box.env(), capture_output=True, text=True, timeout=60)
            report = json.loads(done.stdout)
            assert (report["isolation"], report["run"]["stdout"]) == (grade, "hello\n"), (who, report)
            assert any(note.startswith(reason) for note in report["isolation_notes"]), (who, report)


def test_a_hard_limit_below_ours_lowers_the_programs_limit_and_the_answer_says_so(box):
    need(box, "landlock")
    file = box.write("limit.sh", "ulimit -s")
    flags = [f"--isolation={grades(box)[0]}", f"--min-isolation={grades(box)[0]}"]
    done = subprocess.run(["prlimit", "--stack=4194304:4194304", str(box.binary), "run", "--json", *flags, file],
                          env=box.env(), cwd=box.path, capture_output=True, text=True, timeout=60)
    run = json.loads(done.stdout)["run"]
    assert run["stdout"] == "4096\n", run
    assert run["limits_lowered"][0].startswith("stack: 4194304 instead of 8388608"), run


def test_a_hard_limit_on_processes_below_ours_is_said(box):
    """Also where the processes of polybox count with those of the guest, because they have the same uid."""
    if os.geteuid() != 0:
        raise Skip("other processes of this uid would count")  # noqa: F821 (given by run.py)
    box.path.chmod(0o755)
    binary = serving.copy_of(box.binary, box.path)
    for grade in set(grades(box)) - {"full"}:
        done = subprocess.run(["setpriv", "--reuid=64123", "--regid=64123", "--clear-groups", "prlimit", "--nproc=31:31",
                               binary, "run", "--json", f"--isolation={grade}", f"--min-isolation={grade}", "--timeout=30s",
                               box.write("hello.sh", "echo hello")],
                              env=box.env(), cwd="/", capture_output=True, text=True, timeout=60)
        run = json.loads(done.stdout)["run"]
        assert run["stdout"] == "hello\n", run
        assert re.match(r"processes: 31 instead of [34]\d,", run["limits_lowered"][0]), (grade, run)
