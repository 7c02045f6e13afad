"""polybox run: real programs of every language in the jail."""
import json
import os
import re
import signal
import subprocess
import time

import serving

HELLO = {
    "python": ("hello.py", "print('hello')"),
    "node": ("hello.js", "console.log('hello')"),
    "node-typescript": ("hello.ts", "const word: string = 'hello'; console.log(word);"),
    "go": ("hello.go", 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }\n'),
    "rust": ("hello.rs", 'fn main() { println!("hello"); }'),
    "ruby": ("hello.rb", "puts 'hello'"),
    "bash": ("hello.sh", "echo hello"),
    "c": ("hello.c", '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'),
    "cpp": ("hello.cpp", '#include <iostream>\nint main() { std::cout << "hello\\n"; }\n'),
    "java": ("Main.java", "class Main { public static void main(String[] a) { System.out.println(\"hello\"); } }"),
    "perl": ("hello.pl", 'print "hello\\n";'),
    "php": ("hello.php", '<?php echo "hello\\n";'),
    "lua": ("hello.lua", "print('hello')"),
}


# A shell without job control starts background jobs with SIGINT ignored, and so does a script that runs these tests there.
HEARING_SIGINT = ["env", "--default-signal=INT"]


def jailed(box, *args, stdin=None, env=None):
    """`polybox run` as this machine's user would: its own toolchains, packages and home."""
    keep = {key: os.environ[key] for key in ("HOME", "PYENV_ROOT", "RUSTUP_HOME") if key in os.environ}
    keep |= serving.SETTINGS | {"PATH": os.environ["PATH"]}
    return subprocess.run([str(box.binary), "run", *map(str, args)], env=keep | (env or {}), cwd=box.path,
                          input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)


def json_of(box, *args, **options):
    done = jailed(box, "--json", *args, **options)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def available(box):
    keep = {key: os.environ[key] for key in ("HOME", "PYENV_ROOT", "RUSTUP_HOME") if key in os.environ}
    done = subprocess.run([str(box.binary), "languages", "--json"], env=keep | {"PATH": os.environ["PATH"]},
                          capture_output=True, text=True, check=True)
    return {language["id"] for language in json.loads(done.stdout) if language["available"]}


def make_hello_test(language):
    def test(box):
        if language not in available(box):
            return  # `polybox languages` says why; that it says so is tested elsewhere
        name, code = HELLO[language]
        done = jailed(box, box.write(name, code))
        assert (done.returncode, done.stdout) == (0, "hello\n"), done
    return test


for _language in HELLO:
    globals()[f"test_hello_in_{_language}_runs_in_the_jail"] = make_hello_test(_language)


SAY = 'public static void main(String[] a) { System.out.println(String.join(" ", a)); }'
JAVA = {
    "Hello.java": f"public class Hello {{ {SAY} }}",
    "Named.java": f"@Deprecated\npublic final class Other {{ {SAY} }}",
    "lower-case.java": f"class First {{}}\nclass Domain {{}}\nclass Hello {{ {SAY} }}",
    "Shape.java": f"public interface Shape {{}}\nclass Hello implements Shape {{ {SAY} }}",
    "Main.java": f"class Hello {{ {SAY} }}\nclass Main {{ {SAY.replace('a));', 'a) + 1);')} }}",
    "Packaged.java": f"package some.where;\n\npublic record Packaged(int x) {{ {SAY} }}",
}


def test_a_java_file_and_its_class_may_have_any_name(box):
    if "java" not in available(box):
        return
    for name, code in JAVA.items():
        done = jailed(box, box.write(name, code), "--", "one", "@two", "-cp")
        expected = "one @two -cp1\n" if name == "Main.java" else "one @two -cp\n"
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, ""), (name, done)
    done = jailed(box, box.write("None.java", "public class None {}"))
    assert done.returncode == 1 and "Main method not found in class None" in done.stderr, done


def test_the_programs_own_exit_code_is_ours(box):
    assert jailed(box, box.write("a.sh", "exit 42")).returncode == 42
    assert jailed(box, box.write("b.sh", "exit 137")).returncode == 137


def test_a_signal_is_reported_as_a_shell_does_and_explained(box):
    done = jailed(box, box.write("a.sh", "kill -SEGV $$"))
    assert done.returncode == 139, done
    assert done.stderr == "polybox: ended by SIGSEGV\n", done


def test_input_arguments_and_both_streams_are_connected(box):
    script = box.write("a.sh", 'read line; echo "out $line $1 $2"; echo err >&2')
    done = jailed(box, script, "--", "one", "two words", stdin="typed\n")
    assert done.stdout == "out typed one two words\n", done
    assert done.stderr == "err\n", done
    done = jailed(box, script, "--stdin", box.write("input", "from a file\n"))
    assert done.stdout == "out from a file  \n", done


def test_a_program_from_standard_input_needs_its_language(box):
    done = jailed(box, "-", "--language", "bash", stdin="echo hello")
    assert done.stdout == "hello\n", done
    done = jailed(box, "-", stdin="echo hello")
    assert done.returncode == 2 and "give --language" in done.stderr, done


def test_a_shebang_tells_the_language(box):
    done = jailed(box, box.write("script", "#!/usr/bin/env -S bash -e\necho hello\n"))
    assert done.stdout == "hello\n", done


def test_the_wall_time_ends_it_with_a_reason(box):
    script = box.write("a.sh", "echo before; sleep 30 & setsid sleep 30 & wait")
    begin = time.monotonic()
    done = jailed(box, script, "--timeout", "1s")
    assert time.monotonic() - begin < 5
    assert done.stdout == "before\n", done
    assert done.returncode == 137, done
    assert done.stderr == "polybox: stopped: it ran longer than 1s\n", done


def test_running_out_of_memory_is_named(box):
    report = json_of(box, box.write("a.py", "x = bytearray(200 << 20)"), "--memory", "32M")
    if report["isolation"] == "full":
        assert report["run"]["end"] == "out_of_memory", report
        assert report["run"]["oom_kills"] == 1, report


def test_too_much_output_ends_it_and_keeps_the_first_of_it(box):
    report = json_of(box, box.write("a.sh", "yes"))
    assert report["run"]["end"] == "output_limit", report["run"]["end"]
    assert len(report["run"]["stdout"]) == 1 << 20


def test_how_much_it_may_print_is_said_and_can_be_changed(box):
    script = box.write("a.sh", "printf %2000s")
    assert jailed(box, script, "--output-limit", "2000").returncode == 0
    done = jailed(box, script, "--output-limit", "1K")
    assert (len(done.stdout), done.stderr) == (1024, "polybox: stopped: it printed more than 1KiB\n"), done
    done = jailed(box, box.write("b.sh", "yes"))
    assert done.stderr == "polybox: stopped: it printed more than 1MiB (--output-limit SIZE allows more)\n", done
    done = jailed(box, script, "--output-limit", "lots")
    assert (done.returncode, done.stderr) == (2, 'polybox: --output-limit "lots": expected a size with its unit, '
                                                 'such as "64MiB" (B, KiB, MiB, GiB)\n'), done


def test_a_time_without_a_unit_counts_seconds(box):
    script = box.write("a.sh", "sleep 30")
    done = jailed(box, script, "--timeout", "1")
    assert done.stderr == "polybox: stopped: it ran longer than 1s\n", done
    done = jailed(box, script, "--timeout", "0.2")
    assert done.stderr == "polybox: stopped: it ran longer than 200ms\n", done


def test_a_compile_error_is_shown_and_nothing_runs(box):
    done = jailed(box, box.write("a.c", "int main(void) { return x; }"))
    assert done.returncode == 1, done
    assert "'x' undeclared" in done.stderr or "‘x’ undeclared" in done.stderr, done
    report = json_of(box, box.path / "a.c")
    assert report["run"] is None and report["compile"]["exit_code"] == 1, report


def test_json_carries_the_whole_outcome(box):
    report = json_of(box, box.write("a.sh", "echo out; echo err >&2; exit 3"))
    run = report["run"]
    assert (run["end"], run["exit_code"], run["signal"]) == ("exited", 3, None), run
    assert (run["stdout"], run["stderr"]) == ("out\n", "err\n"), run
    assert run["wall_ms"] > 0 and run["memory_peak_bytes"] > 0, run
    assert report["language"] == "bash" and report["compile"] is None, report


def test_json_has_plain_numbers(box):
    done = jailed(box, "--json", box.write("a.sh", "sleep 0.01"))
    for name in ("wall_ms", "cpu_user_ms", "cpu_system_ms"):
        assert re.search(rf'"{name}":[0-9]+\.[0-9]+[,}}]', done.stdout), done.stdout


def test_ctrl_c_reaches_the_program(box):
    script = box.write("a.sh", "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.05; done")
    process = subprocess.Popen([*HEARING_SIGINT, str(box.binary), "run", str(script)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, env=box.env())
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "caught\n"
    assert process.wait(timeout=10) == 3


def test_a_signal_that_was_ignored_at_the_start_stays_ignored(box):
    # As in a background job of a script: the terminal's Ctrl-C is for others. The program has the usual dispositions.
    script = box.write("a.sh", "trap 'echo caught; exit 3' INT; trap 'echo ended; exit 4' TERM; echo ready; "
                               "while :; do sleep 0.05; done")
    process = subprocess.Popen(["env", "--ignore-signal=INT", str(box.binary), "run", str(script)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=box.env())
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    assert process.stdout.read() == "ended\n"
    assert process.wait(timeout=10) == 4
    done = subprocess.run(["env", "--ignore-signal=INT", str(box.binary), "run",
                           str(box.write("b.sh", "trap 'echo heard' INT; kill -INT $$"))],
                          env=box.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.stdout == "heard\n", done


def test_nothing_survives_a_killed_polybox(box):
    mark = f"31.{os.getpid()}{time.monotonic_ns() % 1000000}"
    script = box.write("a.sh", f"sleep {mark} & echo ready; sleep {mark}")
    process = subprocess.Popen([str(box.binary), "run", str(script)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, env=box.env())
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait()
    for _ in range(100):
        left = subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, text=True).stdout.split()
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(f"guests are still there: {left}")


def test_wrong_use_is_refused_with_what_is_allowed(box):
    script = box.write("a.sh", "true")
    for args, part in [((script, "--timeout", "5 s"), '--timeout "5 s": expected a time with its unit'),
                       ((script, "--memory", "lots"), '--memory "lots": expected a size with its unit'),
                       ((script, "--language", "bsh"), 'no language "bsh"; did you mean "bash"?'),
                       ((box.path / "none.sh",), "No such file or directory"),
                       ((box.write("x.unknown", ""),), "give --language")]:
        done = jailed(box, *args)
        assert done.returncode != 0 and part in done.stderr, (args, done)


def rootless_report_of(box, script, *args):
    """What bash does with the script when an ordinary user runs it."""
    copy = serving.copy_of(box.binary, box.path)
    box.path.chmod(0o755)
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run([*become, copy, "run", "-", "--language", "bash", "--json", *args], input=script,
                          env=serving.SETTINGS | {"PATH": "/usr/bin:/bin"}, cwd="/", capture_output=True, text=True, timeout=60)
    report = json.loads(done.stdout)
    assert report["isolation"] == "rootless", report
    return report["run"]


def test_an_ordinary_user_runs_programs_rootless(box):
    run = rootless_report_of(box, "id -u; cat /etc/shadow; ls /root /home")
    assert run["stdout"] == "65534\n", run


def test_processor_time_of_a_stopped_tree_is_counted_rootless(box):
    # Neither of the two that spin is reaped by its parent. Each spins for a part of the processor time that the run may use.
    spin = "for ((i = 0; i < 150000; i++)); do :; done; sleep 60"
    run = rootless_report_of(box, f"({spin}) & ({spin}) & sleep 60", "--timeout", "2s")
    assert run["end"] == "timed_out", run
    assert run["cpu_user_ms"] + run["cpu_system_ms"] > 100, run


def test_descriptors_that_are_closed_are_not_taken_for_others(box):
    program = box.write("read.sh", "cat; echo done")
    closed = {"0": (0, "done\n", ""), "1": (1, "", "polybox: write the output: write: Bad file descriptor\n")}
    for number, expected in closed.items():
        done = subprocess.run(["bash", "-c", f'exec {number}>&-; exec "$0" run "$1"', str(box.binary), str(program)],
                              cwd=box.path, capture_output=True, text=True, timeout=20)
        assert (done.returncode, done.stdout, done.stderr) == expected, done


def await_open_of_pipe(pid):
    """Until the process waits for somebody to write to a pipe that it opens."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with open(f"/proc/{pid}/wchan") as place:
            if "wait_for_partner" in place.read():
                return
        time.sleep(0.02)
    raise AssertionError("it does not open the pipe")


def test_input_that_never_comes_can_be_given_up(box):
    program, pipe = box.write("read.sh", "cat"), box.path / "pipe"
    os.mkfifo(pipe)
    waiting = subprocess.Popen([*HEARING_SIGINT, str(box.binary), "run", str(program), "--stdin", str(pipe)],
                               cwd=box.path)
    try:
        await_open_of_pipe(waiting.pid)
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(timeout=20) == -signal.SIGINT
    finally:
        waiting.kill()
        waiting.wait()
    done = jailed(box, program, "--stdin", box.path)
    assert done.returncode != 0 and "Is a directory" in done.stderr, done
