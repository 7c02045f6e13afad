"""polybox run in the grades without namespaces: landlock and none, as whoever runs the tests and as an ordinary user."""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

import serving
from run_test import HELLO, available, jailed

GRADES = ("landlock", "none")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]


def flags(grade):
    return [f"--isolation={grade}", f"--min-isolation={grade}"]


class User:
    """A way to start polybox: as we are, or as nobody, with a $TMPDIR of its own."""

    def __init__(self, folder, name):
        self.path = pathlib.Path(folder)
        self.path.chmod(0o755)
        self.tmp = self.path / "tmp"
        self.tmp.mkdir(mode=0o777)
        self.tmp.chmod(0o777)
        self.command = [*(NOBODY if name == "nobody" else []), serving.copy_of(BINARY, self.path)]

    def start(self, grade, code, *args, language="bash"):
        file = self.path / f"code.{language}"
        file.write_text(code)
        env = serving.SETTINGS | {"PATH": "/usr/bin:/bin", "HOME": str(self.tmp), "TMPDIR": str(self.tmp)}
        return subprocess.Popen([*self.command, "run", *flags(grade), "--language", language, str(file), *args], env=env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd="/")

    def run(self, grade, code, *args, **options):
        process = self.start(grade, code, "--json", *args, **options)
        out, err = process.communicate(timeout=60)
        assert out, err
        report = json.loads(out)
        assert report["isolation"] == grade, report
        assert self.leftovers() == [], self.leftovers()
        return report["run"]

    def leftovers(self):
        return [entry.name for entry in self.tmp.iterdir() if entry.name.startswith("polybox-")]


BINARY = serving.BINARY


@contextlib.contextmanager
def user(name):
    with tempfile.TemporaryDirectory() as folder:
        yield User(folder, name)


def needs(box, grade):
    done = jailed(box, *flags(grade), "-", "--language", "bash", stdin="true")
    if done.returncode != 0:
        raise Skip(done.stderr)


def users():
    return ("self", "nobody") if os.geteuid() == 0 else ("self",)


def gone(mark):
    for _ in range(100):
        left = subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, text=True).stdout.split()
        if not left:
            return True
        time.sleep(0.05)
    return False


def each(check):
    """The check as one test for each grade and user: test_NAME_in_GRADE_as_USER."""
    for grade in GRADES:
        for name in users():
            def test(box, grade=grade, name=name):
                needs(box, grade)
                with user(name) as runner:
                    check(runner, grade)
            globals()[f"test_{check.__name__}_in_{grade}_as_{name}"] = test


def make_hello_test(language, grade):
    def test(box):
        needs(box, grade)
        if language not in available(box):
            return  # `polybox languages` says why; that it says so is tested elsewhere
        name, code = HELLO[language]
        done = jailed(box, *flags(grade), box.write(name, code))
        assert (done.returncode, done.stdout) == (0, "hello\n"), done
    return test


for _grade in GRADES:
    for _language in HELLO:
        globals()[f"test_hello_in_{_language}_runs_in_{_grade}"] = make_hello_test(_language, _grade)


@each
def the_exit_code_is_the_programs_own(runner, grade):
    run = runner.run(grade, "echo out; echo err >&2; exit 42")
    assert (run["end"], run["exit_code"], run["stdout"], run["stderr"]) == ("exited", 42, "out\n", "err\n"), run


@each
def the_wall_time_ends_the_whole_tree(runner, grade):
    mark = f"41.{os.getpid()}{time.monotonic_ns() % 1000000}"
    begin = time.monotonic()
    run = runner.run(grade, f"sleep {mark} & setsid sleep {mark} & (setsid sh -c 'sleep {mark}; true' &) ; wait",
                     "--timeout=500ms")
    assert time.monotonic() - begin < 10
    assert run["end"] == "timed_out", run
    assert gone(mark)


@each
def a_grandchild_in_a_session_of_its_own_ends_with_the_program(runner, grade):
    mark = f"42.{os.getpid()}{time.monotonic_ns() % 1000000}"
    run = runner.run(grade, f"(setsid sh -c 'sleep {mark}; true' > /dev/null 2>&1 &); echo done")
    assert (run["end"], run["stdout"]) == ("exited", "done\n"), run
    assert gone(mark)


@each
def too_much_output_ends_it(runner, grade):
    run = runner.run(grade, "yes & yes")
    assert run["end"] == "output_limit", run["end"]
    assert len(run["stdout"]) == 1 << 20


@each
def nothing_survives_a_killed_polybox(runner, grade):
    mark = f"43.{os.getpid()}{time.monotonic_ns() % 1000000}"
    process = runner.start(grade, f"setsid sleep {mark} & (setsid sleep {mark} &); echo ready; sleep {mark}")
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    process.kill()
    process.wait()
    assert gone(mark)
    for _ in range(100):
        if not runner.leftovers():
            return
        time.sleep(0.05)
    raise AssertionError(runner.leftovers())


@each
def what_a_dead_server_left_is_swept_at_the_next_start(runner, grade):
    left = runner.tmp / "polybox-4194399-1-slot-0"
    (left / "sandbox" / "a").mkdir(parents=True)
    (left / "sandbox" / "a" / "file").write_text("x")
    if runner.command[0] == "setpriv":
        subprocess.run(["chown", "-R", "65534", str(left)], check=True)
    runner.run(grade, "true")


@each
def temporary_files_and_home_are_the_programs_own(runner, grade):
    code = """
import os, tempfile
with tempfile.NamedTemporaryFile() as file: print(os.path.dirname(file.name) == os.environ["TMPDIR"])
print(os.getcwd() == os.environ["HOME"], os.listdir())
"""
    run = runner.run(grade, code, language="python")
    assert run["stdout"] == "True\nTrue ['code.python']\n", run


def test_files_move_between_directories(box):
    for grade in GRADES:
        needs(box, grade)
        for name in users():
            with user(name) as runner:
                run = runner.run(grade, "mkdir a b; echo 1 > a/x; mv -n a/x b/y && ln b/y a/z && cat a/z; "
                                        "python3 -c 'import os; os.rename(\"b/y\", \"a/y\"); os.link(\"a/y\", \"b/w\")'; ls a b")
                # `mv` copies where the kernel refuses to rename; Python does not.
                assert run["stdout"] == "1\na:\ny\nz\n\nb:\nw\n" and run["stderr"] == "", (grade, name, run)


def test_landlock_keeps_the_host_out_of_reach(box):
    needs(box, "landlock")
    for name in users():
        with user(name) as runner:
            (runner.path / "secret").write_text("secret\n")
            (runner.path / "secret").chmod(0o666)
            run = runner.run("landlock", f"cat {runner.path}/secret /etc/passwd; ls {runner.path}; "
                                         f"echo x > {runner.path}/secret; echo x > {runner.tmp}/new")
            assert run["stdout"] == "", run
            assert (runner.path / "secret").read_text() == "secret\n"
            assert not (runner.tmp / "new").exists()
            run = runner.run("landlock", """
import socket
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            socket.socket(family, kind)
            print("made a socket")
        except OSError:
            pass
a, b = socket.socketpair()
print("a pair works")
""", language="python")
            assert run["stdout"] == "a pair works\n", run


def test_a_grade_below_the_minimum_is_refused_with_the_fix(box):
    for grade in GRADES:
        done = jailed(box, f"--isolation={grade}", box.write("a.sh", "true"))
        assert done.returncode == 2, done
        assert done.stderr == (f"polybox: isolation {grade} is asked for and min-isolation is rootless\n"
                               f"fix: accept it with --min-isolation={grade}\n"), done


def test_a_grade_that_cannot_give_hosts_says_so_instead_of_giving_none(box):
    for grade in GRADES:
        needs(box, grade)
        told = (f"guest-egress: the isolation grade {grade} has no network namespaces, so guests cannot be given hosts\n"
                "fix: leave guest-egress out, or use a host that gives full or rootless\n")
        done = jailed(box, *flags(grade), "--guest-egress=example.org", box.write("a.sh", "true"))
        assert (done.returncode, done.stderr) == (2, "polybox: " + told), done
        done = box.run("serve", *flags(grade), "--guest-egress=example.org")
        assert done.returncode == 2 and done.stderr.endswith("polybox: " + told), done


def test_none_is_never_chosen_by_itself(box):
    done = jailed(box, "--min-isolation=none", "--json", box.write("a.sh", "true"))
    assert json.loads(done.stdout)["isolation"] != "none", done
