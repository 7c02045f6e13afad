"""What goes wrong around an interpreter that was started ahead is nobody's fate: not the program's, not the next one's."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import serving
import traces
from warm_test import run_warm

LANGUAGES = serving.ROOT / "languages"
NODE = {"language": "node", "entry": "script.js"}
PYTHON = {"language": "python", "entry": "script.py"}
# A program that says which slot it is in.
WHERE = "console.log(require('fs').readlinkSync('/proc/self/ns/mnt'))"


def has_interpreter(server, namespace):
    """Whether an interpreter waits in the slot that has this mount namespace."""
    for process in traces.descendants(server.process.pid):
        with contextlib.suppress(OSError):
            if "/.warm/start" in process.command and os.readlink(f"/proc/{process.pid}/ns/mnt") == namespace:
                return True
    return False


def needs(server, language):
    if language not in server.health["languages"]:
        raise Skip(f"{language} is not available")  # noqa: F821 (run.py puts it here)


def one_slot(*args, **options):
    return serving.Server(["--max-concurrent=1", "--max-concurrency=1", "--warm-slots=1", *args], **options)


def processor_time(box, grade, *args):
    """In milliseconds, of the cheapest of three runs."""
    def once():
        done = subprocess.run([str(box.binary), "run", "--json", f"--isolation={grade}", f"--min-isolation={grade}",
                               *map(str, args)], env=serving.clean_environment(box.path), capture_output=True, text=True,
                              timeout=60)
        assert done.stdout, done.stderr
        step = json.loads(done.stdout)["run"]
        assert step["warm"] == ("--warm" in args), step
        return step["cpu_user_ms"] + step["cpu_system_ms"]
    return min(once() for _ in range(3))


def check_start_is_free(box, grade):
    program = box.write("script.js", "console.log(1)")
    if subprocess.run(["node", "--version"], capture_output=True).returncode != 0:
        raise Skip("node is not available")  # noqa: F821
    # `run --warm` hands the program over while the interpreter still starts.
    cold, warm = processor_time(box, grade, program), processor_time(box, grade, "--warm", program)
    assert warm < cold * 0.7, f"{warm} of {cold} ms are charged to a program that was started ahead"


def test_the_start_of_an_interpreter_is_not_charged_to_its_program(box):
    check_start_is_free(box, "full" if os.geteuid() == 0 else "rootless")


def test_nor_is_it_where_no_cgroup_counts(box):
    check_start_is_free(box, "rootless")


def test_the_limits_of_one_session_do_not_hold_for_the_interpreter_that_waits_for_the_next(box):
    with one_slot("--mode=node") as server:
        needs(server, "node")
        # Enough for one that has started, and too few to start: it has threads of its own.
        few = {"code": WHERE, "limits": {"processes": 1}}
        for _ in range(5):
            limited = run_warm(server, NODE, few)["stdout"]
            # A request that comes before its slot has the next interpreter gets another slot.
            traces.await_true(lambda: has_interpreter(server, limited.strip()), "no interpreter in the slot that was used")
            if run_warm(server, NODE, {"code": WHERE})["stdout"] == limited:
                return
        raise AssertionError("the slot is always lost with its interpreter")


def test_an_interpreter_that_fails_with_a_program_in_its_hands_starts_it_cold(box):
    text = (LANGUAGES / "python" / "start.py").read_text()
    broken, count = re.subn(r"^( +)take_streams\(\)$", r"\1raise Exception", text, flags=re.MULTILINE)
    assert count == 1
    with tempfile.TemporaryDirectory(prefix="polybox-languages-") as folder:
        shutil.copy(LANGUAGES / "python.toml", folder)
        pathlib.Path(folder, "python").mkdir()
        pathlib.Path(folder, "python", "start.py").write_text(broken)
        with one_slot("--mode=python", "--languages-dir", folder) as server:
            needs(server, "python")
            code = "import os, sys\nprint(sys.argv, os.getpid(), 'WORD' in os.environ, sys.stdin.read())\nsys.exit(7)"
            result = run_warm(server, PYTHON, {"code": code, "args": ["a b"], "env": {"WORD": "x"}, "stdin": "in"})
            assert (result["stdout"], result["stderr"], result["exit_code"]) == (
                "['/sandbox/script.py', 'a b'] 2 True in\n", "", 7), result


def test_a_module_that_cannot_be_loaded_ahead_is_logged_once_with_the_reason(box):
    if "landlock" in os.environ.get("POLYBOX_SERVE", ""):
        raise Skip("nothing is started ahead there")  # noqa: F821
    with serving.Server(["--preload", "python=json,nosuchmodule", "--preload", "ruby=set,nosuchlibrary"]) as server:
        for language in ("python", "ruby"):
            needs(server, language)

        def warnings():
            lines = [json.loads(line) for line in server.whole_log().splitlines() if b"preload" in line]
            return sorted((line["level"], line["language"], line["module"], line["error"]) for line in lines)

        expected = [("warning", "python", "nosuchmodule", "ModuleNotFoundError: No module named 'nosuchmodule'"),
                    ("warning", "ruby", "nosuchlibrary", "LoadError: cannot load such file -- nosuchlibrary")]
        traces.await_true(lambda: len(warnings()) >= 2, "there is no warning")
        assert warnings() == expected, warnings()
        assert server.execute("print(1)", language="python")["stdout"] == "1\n"
        assert warnings() == expected, warnings()


def zygotes_of(server):
    """Interpreters that are children of a slot init; guests that wait are children of their cells."""
    known = traces.processes()
    return [process.pid for process in known.values() if "/.warm/start.py" in process.command
            and process.parent in known and known[process.parent].parent == server.process.pid]


def test_a_zygote_that_does_not_answer_is_given_up_and_programs_run_on(box):
    if os.geteuid() != 0:
        raise Skip("to stop a process of a slot needs root")  # noqa: F821
    with one_slot("--mode=python") as server:
        needs(server, "python")
        run_warm(server, PYTHON, {"code": "print(1)"})
        stopped = traces.await_true(lambda: zygotes_of(server), "there is no zygote")
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        for _ in range(3):
            assert server.execute("print(2)", language="python")["stdout"] == "2\n"
        traces.await_true(lambda: not set(stopped) <= set(zygotes_of(server)), "it is still waited for")
        assert server.execute("print(3)", language="python")["stdout"] == "3\n"
