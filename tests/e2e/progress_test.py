"""What is said while a request waits: on a terminal, and in the event stream."""
import json
import os
import pty
import select
import shutil
import socket
import subprocess
import threading
import time

from serving import Server, has_serve

# A language whose compiler takes its time.
SLOW = """
id = "slow"
name = "Slow"
extensions = [".slow"]

[toolchain]
binaries = ["bash"]
version = ["{executable}", "--version"]

[entry]
file = "main.slow"
rule = "fixed"

[compile]
command = ["{executable}", "-c", "sleep 1.5; cp main.slow main"]
produces = ["main"]

[compile.env]
PATH = "/usr/bin:/bin"

[compile.limits]
address_space = "512MiB"
open_files = 64
processes = 32

[run]
command = ["{executable}", "main"]

[run.env]
PATH = "/usr/bin:/bin"

[run.limits]
address_space = "512MiB"
open_files = 64
processes = 32

[image]
apt = ["bash"]
"""


def on_terminal(box, *args, command="run", language=SLOW, term="xterm"):
    """What a command of polybox writes to a terminal, and its standard output, which is none."""
    box.write("languages/slow.toml", language)
    ours, theirs = pty.openpty()
    process = subprocess.Popen([str(box.binary), command, "--languages-dir", str(box.path / "languages"), *map(str, args)],
                               env=box.env({"TERM": term}), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    said, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 1)[0]:
            continue
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # nobody has the other end any more
            break
        if not chunk:
            break
        said += chunk
    os.close(ours)
    out = process.stdout.read()
    assert process.wait(timeout=30) == 0, said
    return said.decode(), out.decode()


def screen(said):
    """What is left on the line after all that was written."""
    line, at = [], 0
    for c in said:
        if c == "\r":
            at = 0
            continue
        line[at:at + 1] = [c]
        at += 1
    return "".join(line).strip()


def test_a_terminal_shows_what_is_waited_for_and_nothing_is_left_of_it(box):
    program = box.write("a.slow", "echo ran")
    said, out = on_terminal(box, program)
    assert out == "ran\n" and "polybox: 0s, compiling" in said and "polybox: 1s, compiling" in said, (said, out)
    assert screen(said) == "" and "\x1b" not in said, said
    # In the compile cache: nothing to wait for.
    assert on_terminal(box, program) == ("", "ran\n")


def test_a_terminal_that_cannot_go_back_and_a_program_that_starts_at_once_show_nothing(box):
    assert on_terminal(box, box.write("b.slow", "echo dumb"), term="dumb") == ("", "dumb\n")
    assert on_terminal(box, box.write("c.sh", "sleep 1; echo ran")) == ("", "ran\n")


PACKAGES = """
[packages]
installer = "script"
binaries = ["sh"]
install = ["sh", "-c", "sleep 1.5; mkdir -p $0; echo $* > $0/names", "{target}", "{requirements}"]
preinstalled = ["one@1"]
"""


def test_preinstall_shows_on_a_terminal_what_it_installs_and_nothing_is_left_of_it(box):
    # Without a jail it works for every user.
    installs = {"command": "preinstall", "language": SLOW + PACKAGES}
    said, out = on_terminal(box, "slow", "--unjailed", **installs)
    assert out == "slow: one@1 (installed)\n" and "polybox: 0s, installing packages of Slow" in said, (said, out)
    assert screen(said) == "" and "\x1b" not in said, said
    assert on_terminal(box, "slow", "--unjailed", **installs) == ("", "slow: one@1 (already there)\n")


def events(server, body, heard=None):
    """(event, data) in order; `heard` is set at the first."""
    connection = server.connection()
    connection.request("POST", "/execute", json.dumps(body), {"Accept": "text/event-stream"})
    response, found = connection.getresponse(), []
    while line := response.readline():
        if line.startswith(b"event: "):
            name = line[7:].strip().decode()
            found.append((name, json.loads(response.readline()[6:])))
            if heard is not None:
                heard.set()
    connection.close()
    return found


if has_serve():
    def test_the_event_stream_tells_what_a_request_waits_for(box):
        box.write("languages/slow.toml", SLOW)
        with Server(["--languages-dir", str(box.path / "languages"), "--max-concurrent", "1", "--queue", "5"]) as server:
            slow = {"language": "slow", "code": f"echo {time.monotonic_ns()}"}
            heard, later = threading.Event(), []
            first = []
            one = threading.Thread(target=lambda: first.extend(events(server, slow, heard)))
            one.start()
            assert heard.wait(30)
            later = events(server, {"language": "bash", "code": "echo ran"})
            one.join()
            assert [(name, data.get("stage")) for name, data in first] == [
                ("progress", "compiling"), ("progress", "running"), ("stdout", None), ("result", None)], first
            assert [(name, data.get("stage")) for name, data in later] == [
                ("progress", "queued"), ("progress", "running"), ("stdout", None), ("result", None)], later
            # A hit of the cache, and a program that nothing is done for, have the events that they always had.
            for body in (slow, {"language": "bash", "code": "echo ran"}):
                assert [name for name, _ in events(server, body)] == ["stdout", "result"]

    def test_an_installation_that_takes_too_long_says_so(box):
        if not shutil.which("uv"):
            raise Skip("uv is not installed")
        # An index that accepts and never answers.
        with socket.create_server(("127.0.0.1", 0)) as index:
            port = index.getsockname()[1]
            environment = {"POLYBOX_PYTHON_INDEX": f"https://127.0.0.1:{port}/simple",
                           "POLYBOX_EGRESS_ALLOW": f"127.0.0.1:{port}"}
            with Server([], env=environment) as server:
                if server.health["isolation"] not in ("full", "rootless"):
                    raise Skip("installers need namespaces")
                found = events(server, {"code": "print(1)", "requirements": ["six"], "timeout_seconds": 2})
                assert found[0] == ("progress", {"stage": "installing"}), found
                said = found[-1][1]["stderr"]
                assert said.startswith("package installation failed: signal: killed"), said
                assert said.endswith("polybox: the installation took longer than 2s; timeout_seconds allows more"), said
            done = box.run("run", box.write("a.py", "print(1)"), "--requirement", "six", "--install-timeout", "2s",
                           env=environment | {"HOME": os.environ["HOME"]})
            assert done.returncode == 1, done
            assert "the installation took longer than 2s; --install-timeout allows more" in done.stderr, done
