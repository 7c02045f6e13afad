"""polybox run with several files, a directory, an environment, an output directory, and JSON for every outcome."""
import json
import os
import signal
import subprocess
import time

import run_test
import scripted


def fails(box, part, *args, code=2):
    done = run_test.jailed(box, *args)
    assert done.returncode == code and part in done.stderr, (args, done)


def test_several_files_keep_their_places_beside_the_entry(box):
    main = box.write("app/main.py", "import sys; from lib.greet import hello; print(hello(), open('data.csv').read(), sys.argv[1:])")
    helper = box.write("app/lib/greet.py", "def hello(): return 'hello'")
    data = box.write("elsewhere/data.csv", "1,2")
    done = run_test.jailed(box, main, helper, data, "--", "--json", "x")
    assert (done.returncode, done.stdout) == (0, "hello 1,2 ['--json', 'x']\n"), done


def test_a_directory_is_run_by_its_usual_entry(box):
    box.write("app/main.py", "import pkg.inner; print(open('data/x.txt').read())")
    box.write("app/other.py", "raise SystemExit('wrong')")
    box.write("app/pkg/inner.py", "print('inner')")
    box.write("app/data/x.txt", "text")
    done = run_test.jailed(box, box.path / "app")
    assert (done.returncode, done.stdout) == (0, "inner\ntext\n"), done
    done = run_test.jailed(box, box.path / "app", "--entry", "pkg/inner.py")
    assert (done.returncode, done.stdout) == (0, "inner\n"), done


def test_a_file_of_a_directory_may_be_executable(box):
    box.write("app/main.sh", "./tool.sh")
    box.write("app/tool.sh", "#!/bin/bash\necho ran", mode=0o755)
    done = run_test.jailed(box, box.path / "app")
    assert (done.returncode, done.stdout) == (0, "ran\n"), done


def test_a_directory_without_a_usual_entry_lists_what_could_be_meant(box):
    box.write("app/one.py", "print('one')")
    assert run_test.jailed(box, box.path / "app").stdout == "one\n"
    box.write("app/two.py", "")
    box.write("app/deep/three.py", "")
    fails(box, "more than one file could be the entry; name one with --entry (one.py, two.py)", box.path / "app")
    fails(box, 'there is no such file; did you mean "two.py"?', box.path / "app", "--entry", "tow.py")
    box.write("app/main.py", "")
    box.write("app/main.sh", "echo shell")
    fails(box, "(main.py, main.sh)", box.path / "app")
    assert run_test.jailed(box, box.path / "app", "--language", "bash").stdout == "shell\n"
    (box.path / "empty").mkdir()
    fails(box, "no file in it has the extension of a known language", box.path / "empty")


def test_files_of_a_directory_that_the_program_does_not_get_are_named(box):
    box.write("app/main.sh", "ls -A | tr '\\n' ' '")
    box.write("app/.git/config", "x")
    (box.path / "app/link").symlink_to("/etc/passwd")
    os.mkfifo(box.path / "app/pipe")
    done = run_test.jailed(box, box.path / "app")
    assert done.stdout == "main.sh ", done
    for part in ("app/.git (a repository's history)", "app/link (a link)", "app/pipe (a pipe)"):
        assert part in done.stderr, done
    skipped = run_test.json_of(box, box.path / "app")["skipped"]
    assert len(skipped) == 3 and skipped[0].endswith("app/.git (a repository's history)"), skipped


def test_a_directory_that_is_too_large_is_refused_as_a_whole(box):
    box.write("app/main.sh", "true")
    for number in range(2100):
        box.write(f"app/many/{number}", "")
    fails(box, "more than 2048 files", box.path / "app")
    box.write("big/main.sh", "true")
    with open(box.path / "big/hole", "wb") as hole:
        hole.truncate(17 << 20)
    fails(box, "big/hole: read: larger than 16MiB", box.path / "big")


def test_two_files_of_one_name_are_refused(box):
    one, two = box.write("a/x.sh", "true"), box.write("b/x.sh", "true")
    fails(box, 'two files would be "x.sh"', one, two)


def test_variables_reach_the_program(box):
    script = box.write("a.sh", 'echo "$ONE|$TWO|$EMPTY"')
    done = run_test.jailed(box, "--env", "ONE=1", script, "--env", "TWO=a=b c", "--env", "EMPTY=")
    assert done.stdout == "1|a=b c|\n", done
    fails(box, '--env "ONE": expected NAME=VALUE', script, "--env", "ONE")
    fails(box, 'invalid env name "1X"', script, "--env", "1X=2")


def test_output_files_are_written_and_nothing_is_overwritten(box):
    script = box.write("a.sh", "mkdir -p $OUTPUT_DIR/sub; echo new > $OUTPUT_DIR/top; echo in > $OUTPUT_DIR/sub/inner; "
                               "ln -s /etc/passwd $OUTPUT_DIR/link")
    out = box.path / "made" / "out"
    done = run_test.jailed(box, script, "--output", out)
    assert done.returncode == 0 and "not handed over: link (a link)" in done.stderr, done
    assert sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()) == ["sub/inner", "top"]
    (out / "top").write_text("mine")
    (out / "sub/inner").unlink()
    done = run_test.jailed(box, script, "--output", out)
    assert done.returncode == 1 and "out/top: it exists; --overwrite replaces it" in done.stderr, done
    assert (out / "top").read_text() == "mine" and (out / "sub/inner").read_text() == "in\n"
    report = run_test.json_of(box, script, "--output", out, "--overwrite")
    assert report["files"] == [{"path": "sub/inner", "bytes": 3, "written": True},
                               {"path": "top", "bytes": 4, "written": True}], report
    assert report["files_left_out"] == ["link (a link)"] and report["exit_code"] == 0, report
    assert (out / "top").read_text() == "new\n"


def test_no_link_in_the_output_directory_leads_out_of_it(box):
    script = box.write("a.sh", "mkdir $OUTPUT_DIR/sub; echo new > $OUTPUT_DIR/sub/inner; echo new > $OUTPUT_DIR/file")
    out, outside = box.path / "out", box.path / "outside"
    out.mkdir()
    outside.mkdir()
    (out / "sub").symlink_to(outside)
    (out / "file").symlink_to(outside / "file")
    done = run_test.jailed(box, script, "--output", out, "--overwrite")
    assert done.returncode == 1 and done.stderr.count("not written") == 2, done
    assert list(outside.iterdir()) == []


def test_a_program_that_leaves_nothing_needs_no_output_directory(box):
    script = box.write("a.sh", 'echo "[$OUTPUT_DIR]"')
    assert run_test.jailed(box, script).stdout == "[]\n"
    assert run_test.jailed(box, script, "--output", box.path / "out").stdout == "[/sandbox/output]\n"


def test_every_outcome_is_json_when_it_is_asked_for(box):
    script = box.write("a.sh", "exit 3")
    rows = [((script,), 3, None),
            ((script, "--timeout", "lots"), 2, "usage"),
            ((script, "--no-such-flag"), 2, "usage"),
            ((), 2, "usage"),
            ((script, "--language", "bsh"), 2, "usage"),
            ((script, "--log-level", "loud"), 2, "usage"),
            ((script, "--requirement", "six"), 2, "usage"),
            ((script, "--isolation=none"), 2, "usage"),
            ((box.path / "none.sh",), 1, "system"),
            ((box.write("x.unknown", ""),), 2, "usage")]
    for args, code, kind in rows:
        done = run_test.jailed(box, "--json", *args)
        assert done.returncode == code, (args, done)
        report = json.loads(done.stdout)
        assert report["exit_code"] == code, (args, report)
        if kind is None:
            assert "error" not in report, report
        else:
            assert report["error"]["kind"] == kind and report["error"]["message"], (args, report)
            assert "\n" not in report["error"]["message"], (args, report)
            assert done.stderr, (args, done)


def test_arguments_after_two_dashes_are_the_programs(box):
    script = box.write("a.sh", 'echo "$@"')
    assert run_test.jailed(box, script, "--", "--json", "--", "x.py").stdout == "--json -- x.py\n"
    done = box.run("version", "--", "x")
    assert done.returncode == 2 and 'unexpected "x" after --' in done.stderr, done


def test_a_requirements_file_takes_no_options(box):
    script = box.write("a.py", "print(1)")
    fails(box, "req.txt:2: \"-r other.txt\": expected one requirement", script, "--requirements",
          box.write("req.txt", "six\n-r other.txt\n"))


# The installer writes what it was asked for into a module.
INSTALLER = """mkdir $0; for each in $*; do echo "value = '$each'" > $0/${each%%==*}.py; done"""


def test_packages_that_are_asked_for_can_be_imported(box):
    if os.geteuid() != 0:
        raise Skip("a jail with a network of its own needs root here")  # noqa: F821 (run.py puts it here)
    box.write("languages/scripted.toml", scripted.language("sh", "-c", INSTALLER))
    script = box.write("a.scripted", "import one, two, three; print(one.value, two.value, three.value)")
    listed = box.write("req.txt", "# packages of the file\ntwo==2\n\nthree==3\n")
    done = run_test.jailed(box, "--languages-dir", box.path / "languages", "--requirement", "one==1", "--requirements", listed,
                           script, env={"POLYBOX_CACHE_DIR": str(box.path / "cache")})
    assert (done.returncode, done.stdout) == (0, "one==1 two==2 three==3\n"), done


def await_signals_taken(process):
    """Until it takes SIGINT as data. While it starts a program all signals are blocked, SIGHUP too, for a moment."""
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        with open(f"/proc/{process.pid}/status") as status:
            blocked = next(int(line.split()[1], 16) for line in status if line.startswith("SigBlk"))
        if blocked & (1 << (signal.SIGINT - 1)) and not blocked & (1 << (signal.SIGHUP - 1)):
            return
        time.sleep(0.02)
    raise AssertionError("it does not take its signals")


def test_a_signal_before_the_program_runs_ends_it(box):
    # The installer waits for an index that never answers.
    import socket
    with socket.create_server(("127.0.0.1", 0)) as index:
        script = box.write("a.py", "print('ran')")
        environment = box.env({"POLYBOX_PYTHON_INDEX": f"http://127.0.0.1:{index.getsockname()[1]}/simple",
                               "POLYBOX_EGRESS_ALLOW": f"127.0.0.1:{index.getsockname()[1]}"})
        process = subprocess.Popen([*run_test.HEARING_SIGINT, str(box.binary), "run", "--json", str(script), "--requirement", "six"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env=environment)
        try:
            await_signals_taken(process)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        finally:
            process.kill()
            process.wait()
        report = json.loads(out)
        if "install_failure" not in report:  # an installer that is not there fails at once
            assert process.returncode == 130 and report["exit_code"] == 130, (process.returncode, report)
            assert "SIGINT" in report["error"]["message"], report


def test_paths_that_cannot_be_looked_at_are_errors_and_no_crash(box):
    box.write("loop.py", "").unlink()
    (box.path / "loop.py").symlink_to("loop.py")
    fails(box, "Too many levels of symbolic links", box.path / "loop.py", code=1)
    fails(box, "File name too long", box.path / ("x" * 300 + ".py"), code=1)
    fails(box, "the name of a file is empty", "", code=2)
    fails(box, "Too many levels of symbolic links", box.write("a.py", ""), "--stdin", box.path / "loop.py", code=1)
    gone = box.path / "gone"
    gone.mkdir()
    done = subprocess.run(["sh", "-c", 'cd "$1" && rmdir "$1" && exec "$2" run x.py --json', "sh", gone, box.binary],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "No such file or directory" in json.loads(done.stdout)["error"]["message"], done


def test_a_file_size_limit_of_polybox_is_an_error_with_its_reason(box):
    done = subprocess.run(["prlimit", "--fsize=1000", box.binary, "run", "--language", "bash", box.write("a.sh", "echo ran")],
                          capture_output=True, text=True, timeout=60, env=os.environ | {"HOME": str(box.path)})
    assert done.returncode > 0 and ("File too large" in done.stderr or done.stdout == "ran\n"), done
