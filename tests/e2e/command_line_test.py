"""Completion, colours, and what happens without permission."""
import json
import os
import pty
import shutil
import subprocess
import tempfile

import serving
from serving import Server


def complete_in_bash(box, *words):
    """What bash would offer after the words."""
    script = box.write("completion.bash", box.run("completion", "bash").stdout)
    quoted = " ".join(f"'{word}'" for word in ("polybox", *words))
    code = (f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _polybox; "
            'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True, check=True, cwd=box.path)
    return done.stdout.split()


def test_bash_completes_commands_flags_and_values(box):
    assert "languages" in complete_in_bash(box, "lang")
    assert "doctor" in complete_in_bash(box, "")
    assert complete_in_bash(box, "languages", "--js") == ["--json"]
    assert complete_in_bash(box, "--log-level", "") == ["debug", "info", "warn", "error"]
    assert complete_in_bash(box, "completion", "z") == ["zsh"]
    assert "docs" not in complete_in_bash(box, "")


def test_completion_scripts_of_all_shells_name_every_command(box):
    for shell in ("bash", "zsh", "fish"):
        script = box.run("completion", shell).stdout
        for command in ("languages", "doctor", "preinstall", "config", "completion", "version"):
            assert command in script, (shell, command)
        if shutil.which(shell):
            file = box.write(f"script.{shell}", script)
            subprocess.run([shell, "-n", file], check=True)


def run_on_terminal(box, env):
    """The output of `languages` on a pseudo-terminal."""
    leader, follower = pty.openpty()
    subprocess.run([box.binary, "languages"], env=box.env(env), stdout=follower, check=True)
    os.close(follower)
    text = b""
    try:
        while chunk := os.read(leader, 65536):
            text += chunk
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    return text


def test_colours_are_for_terminals_that_want_them(box):
    assert b"\x1b[" in run_on_terminal(box, {"TERM": "xterm"})
    assert b"\x1b[" not in run_on_terminal(box, {"TERM": "xterm", "NO_COLOR": "1"})
    assert b"\x1b[" not in run_on_terminal(box, {"TERM": "dumb"})


def test_a_cache_that_cannot_be_written_is_no_failure(box):
    done = box.run("languages", "--cache-dir", "/proc/none")
    assert done.returncode == 0, done.stderr


NO_CACHE = "there is no cache, which costs time: make {}: Not a directory"
FIX = "let this user write there, or name another directory with --cache-dir"


def test_a_run_without_a_cache_works_and_says_what_to_do(box):
    box.write("file", "")
    place = box.path / "file" / "cache"
    done = box.run("run", box.write("a.sh", "echo ran"), "--cache-dir", place)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done
    assert done.stderr == f"polybox: warning: {NO_CACHE.format(place)}\nfix: {FIX}\n", done.stderr


def test_a_server_without_a_cache_starts_and_says_the_same(box):
    box.write("file", "")
    place = box.path / "file" / "cache"
    with Server(["--cache-dir", str(place)]) as server:
        lines = [json.loads(line) for line in server.whole_log().splitlines()]
        told = {line["message"]: line.get("fix") for line in lines if line["level"] == "warning"}
        assert told.get(NO_CACHE.format(place)) == FIX, told
        assert "packages cannot be installed on request: there is no cache" in told, told
        assert server.ask({"method": "GET", "path": "/readyz"}).status == 200
        assert server.execute("echo ran", language="bash")["stdout"] == "ran\n"
        if "python" in server.ask({"method": "GET", "path": "/health"}).json()["languages"]:
            result = server.execute("print(1)", language="python", requirements=["six"])
            assert result["stderr"] == ("package installation failed: polybox: the server has no directory in which "
                                        "packages can be kept"), result


def start_on_terminal(command, env, last):
    """What it prints until `last`; then it is told to end."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower)
    os.close(follower)
    text = b""
    try:
        while last not in text:
            text += os.read(leader, 65536)
    except OSError:  # it has ended
        pass
    process.terminate()
    process.wait(30)
    os.close(leader)
    return text.decode()


def test_a_server_that_is_open_to_all_warns(box):
    if os.geteuid() != 0:
        raise Skip("a network of its own, so that nobody reaches it, needs root")  # noqa: F821
    warning = "anyone who reaches that address can run programs here"
    for listen, warned in (("0.0.0.0:0", True), ("127.0.0.1:0", False)):
        command = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", str(box.binary), "serve",
                   "--insecure", "--listen", listen]
        text = start_on_terminal(command, box.env(), b"/v1/run")
        assert "Try:" in text and (warning in text) == warned, text
        assert ("WARNING      no token is asked for" in text) == warned, text


def test_an_ordinary_user_can_look_around(box):
    # The binary's folder may be closed to others, so it is copied to an open one.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = serving.copy_of(box.binary, folder)
        become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []

        def run(command):
            return subprocess.run([*become, copy, command], env={"PATH": "/usr/bin:/bin"}, cwd="/",
                                  capture_output=True, text=True)

        for command in ("languages", "doctor", "config"):
            done = run(command)
            assert done.returncode in (0, 1), (command, done.stderr)
            assert done.stdout, command
        assert "not running as root" in run("doctor").stdout


def test_output_that_cannot_be_written_is_a_failure(box):
    with open("/dev/full", "w") as full:
        done = subprocess.run([box.binary, "languages"], env=box.env(), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1, done
    assert "No space left on device" in done.stderr, done


def test_a_limit_of_nothing_is_a_usage_error_and_a_number_without_a_unit_counts(box):
    script = box.write("a.sh", "printf %2000s")
    for flag in ("--timeout", "--memory", "--output-limit", "--install-timeout"):
        for nothing in ("0", "0s" if "timeout" in flag else "0B"):
            done = box.run("run", script, flag, nothing)
            assert (done.returncode, done.stderr) == (2, f'polybox: {flag} "{nothing}": expected more than nothing\n'), done
    assert box.run("run", script, "--memory", str(64 << 20), "--timeout", "20", "--output-limit", "2000").returncode == 0
    for settings in ({"POLYBOX_MAX_TIMEOUT": "45"}, {"POLYBOX_COMPILE_CACHE_SIZE": "1000"}, {"POLYBOX_WARM_MEMORY": "0"}):
        assert box.run("config", env=settings).returncode == 0, settings
    for name in ("MAX_TIMEOUT", "RUN_MEMORY", "COMPILE_MEMORY", "BASE_DIR_SIZE"):
        done = box.run("config", env={f"POLYBOX_{name}": "0"})
        assert done.returncode == 2 and "expected more than nothing" in done.stderr, done


def test_each_kind_of_error_has_an_exit_code(box):
    tokens = box.write("tokens", "0123456789abcdef\n", mode=0o600)
    usage = [("run", "x.sh", "--language", "bsh"), ("preinstall", "pyton"), ("serve", "--requirements-for", "bash"),
             ("serve", "--preload", "node=x"), ("serve", "--token-file", box.write("short", "x\n")),
             ("languages", "--log-level", "loud"), ("doctor", "--jsno"),
             ("languages", "--languages-dir", box.write("bad/x.toml", "id = 1\n").parent)]
    failures = [("run", "none.sh"), ("serve", "--token-file", "none"),
                ("serve", "--listen", "192.0.2.1:1", "--token-file", tokens)]
    box.write("x.sh", "true")
    for code, rows in ((2, usage), (1, failures)):
        for words in rows:
            done = box.run(*words)
            assert done.returncode == code and done.stderr, (words, done)


def test_a_named_file_that_is_missing_is_a_failure_with_its_name(box):
    for words in (("serve", "--config"), ("run", "x.sh", "--config"), ("languages", "--languages-dir"),
                  ("serve", "--languages-dir"), ("serve", "--token-file")):
        done = box.run(*words, "gone.toml")
        assert done.returncode == 1 and "gone.toml" in done.stderr, (words, done)
        assert "No such file or directory" in done.stderr, (words, done)


def test_a_token_file_that_every_user_can_read_is_a_warning(box):
    for mode, warned in ((0o644, True), (0o600, False)):
        tokens = box.write("tokens", "0123456789abcdef\n", mode=mode)
        with Server(["--token-file", str(tokens)]) as server:
            log = server.whole_log().decode()
        assert ("every user of this machine can read the tokens" in log) == warned, (oct(mode), log)


def test_a_bad_timeout_under_the_older_name_is_warned_of_and_the_default_holds(box):
    name = "SANDBOX_EXEC_TIMEOUT_SECONDS"
    with Server(["--base-dir", str(box.path)], env={name: "soon"}) as server:
        lines = [json.loads(line) for line in server.whole_log().splitlines()]
        told = [line["message"] for line in lines if line["level"] == "warning" and name in line["message"]]
        assert told == [f'{name} = "soon": expected a time with its unit, such as "30s" (ms, s, m, h); it counts as not '
                        'set'], lines
        answer = server.ask({"path": "/execute", "json": {"command": "echo ran"}})
        assert answer.json()["stdout"] == "ran\n", answer
    assert box.run("languages", env={name: "soon"}).stderr == ""
    done = box.run("config", env={"POLYBOX_COMMAND_TIMEOUT": "soon"})
    assert done.returncode == 2 and done.stderr.startswith('POLYBOX_COMMAND_TIMEOUT = "soon": '), done
