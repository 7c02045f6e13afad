"""Completion, colours, and what happens without permission."""
import json
import os
import pty
import shutil
import subprocess
import tempfile

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
    warning = "whoever reaches that address can run programs here"
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
        copy = shutil.copy(os.path.realpath(box.binary), folder)
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
