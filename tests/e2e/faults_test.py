"""What goes wrong around a run: each time the right answer, nothing left behind, and the next request works."""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading

import scripted
import serving
import traces
from traces import Program


@contextlib.contextmanager
def served(*args, languages=None, **options):
    """A server that must leave nothing behind."""
    with tempfile.TemporaryDirectory(prefix="polybox-languages-") as folder:
        if languages:
            pathlib.Path(folder, "scripted.toml").write_text(languages)
            args = (*args, "--languages-dir", folder)
        server = serving.Server(["--mode", "shell", *args], **options)
        trace = traces.Traces(server)
        try:
            yield server, trace
            if server.process.poll() is None:
                assert server.execute("echo next")["stdout"] == "next\n"
                idle = server.ask({"method": "GET", "path": "/health"}).json()
                assert (idle["current_load"], idle["queued"]) == (0, 0), idle
                trace.look()
                assert trace.left(), "traces are not seen"
        finally:
            server.stop()
        trace.check()


def needs_root():
    if os.geteuid() != 0:
        raise Skip("mounts and slots of grade full need root")  # noqa: F821 (run.py puts it here)


class Asking(threading.Thread):
    """A request that somebody waits for while the test goes on."""

    def __init__(self, server, request):
        super().__init__()
        self.server, self.request, self.answer = server, request, None
        self.start()

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.answer = self.server.ask(self.request)

    def get(self):
        self.join(traces.PATIENCE)
        assert self.answer is not None, "there was no answer"
        return self.answer


def execute(code, **more):
    return {"path": "/execute", "json": {"code": code, "timeout_seconds": 120} | more}


def run(code):
    return {"path": "/v1/run", "json": {"runtime": "bash", "files": [{"name": "main.sh", "content": code}]}}


# Every way to ask for the same program.
WAYS = {
    "execute": execute,
    "events": lambda code: execute(code) | {"headers": {"Accept": "text/event-stream"}},
    "run": run,
    "command": lambda code: {"path": "/execute", "json": {"command": f"bash -c '{code}'"}},
}


def send(server, request):
    """Sends it and gives the connection back."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=serving.TIMEOUT)
    headers = {"Content-Type": "application/json"} | request.get("headers", {})
    connection.request("POST", request["path"], json.dumps(request["json"]), headers)
    return connection


def refusals(server, reason):
    """How many the server has counted, behind all doors."""
    lines = server.ask({"method": "GET", "path": "/metrics"}).text.splitlines()
    return sum(int(line.split()[-1]) for line in lines
               if line.startswith("polybox_refusals_total{") and f'reason="{reason}"' in line)


# --- The client goes away. ---

def client_goes(way):
    def test(box):
        # One place each, and no queue: the next request finds it free or is refused.
        with served("--max-concurrent", "1", "--queue", "0", "--max-concurrency", "1") as (server, trace):
            program = Program()
            connection = send(server, WAYS[way](program.code))
            program.await_running()
            trace.look()
            connection.close()
            program.await_gone()
            traces.await_true(lambda: refusals(server, "cancelled") == 1, "nothing was cancelled")
    return test


def test_a_client_that_goes_while_it_waits_is_never_run(box):
    with served("--max-concurrent", "1", "--queue", "5") as (server, _):
        first, second = Program(), Program()
        running = send(server, execute(first.code))
        first.await_running()
        waiting = send(server, execute(second.code))
        traces.await_true(lambda: server.ask({"method": "GET", "path": "/health"}).json()["queued"] == 1,
                          "the second does not wait")
        waiting.close()
        traces.await_true(lambda: refusals(server, "cancelled") == 1, "the second still waits")
        running.close()
        first.await_gone()
        traces.await_true(lambda: refusals(server, "cancelled") == 2, "the first was not cancelled")
        assert not traces.marked(second.mark)


def test_a_client_that_goes_ends_its_installation(box):
    needs_root()
    program = Program()
    with served(languages=scripted.language("sh", "-c", program.code)) as (server, trace):
        connection = send(server, execute("print(1)", language="scripted", requirements=["six"]))
        program.await_running()
        trace.look()
        connection.close()
        program.await_gone()
        traces.await_true(lambda: not package_sets(server), "the installation left files")


# --- The server is told to end. ---

def await_draining(server):
    """Until the server has taken the signal: it is then no longer ready."""
    traces.await_true(lambda: server.ask({"method": "GET", "path": "/readyz"}).status == 503, "it does not drain")


def test_a_server_that_is_told_to_end_finishes_what_it_has_taken(box):
    with served("--max-concurrent", "1", "--queue", "5", "--drain-timeout", "60s") as (server, trace):
        program = Program()
        running = Asking(server, execute(program.code))
        program.await_running()
        waiting = Asking(server, execute("echo waited"))
        traces.await_true(lambda: server.ask({"method": "GET", "path": "/health"}).json()["queued"] == 1,
                          "the second does not wait")
        trace.look()
        server.process.terminate()
        await_draining(server)
        program.end()
        assert running.get().json()["stdout"] == "ready\n", running.get()
        assert waiting.get().json()["stdout"] == "waited\n", waiting.get()
        assert server.process.wait(traces.PATIENCE) == 0


def test_a_server_that_is_told_to_end_takes_nobody_any_more(box):
    with served("--drain-timeout", "60s") as (server, trace):
        program = Program()
        running = Asking(server, execute(program.code))
        program.await_running()
        trace.look()
        server.process.terminate()

        def refused():
            # A server that does not drain answers 400 to this body.
            return server.ask({"path": "/execute", "body": "{}"}).status == 503
        traces.await_true(refused, "it still takes requests")
        program.end()
        assert running.get().status == 200, running.get()
        assert server.process.wait(traces.PATIENCE) == 0


# What somebody is told whose run did not end in time.
CANCELLED = {
    "execute": (503, '{"error":"execution was cancelled"}\n'),
    "events": (200, 'event: stdout\ndata: {"data":"ready\\n"}\n\nevent: error\ndata: {"error":"execution was cancelled"}\n\n'),
    "run": (500, None),
}


def end_of_patience(way):
    def test(box):
        with served("--drain-timeout", "1s") as (server, trace):
            program = Program()
            asked = Asking(server, WAYS[way](program.code))
            program.await_running()
            trace.look()
            server.process.terminate()
            status, body = CANCELLED[way]
            answer = asked.get()
            assert answer.status == status, answer
            assert body is None or answer.text == body, answer
            assert server.process.wait(traces.PATIENCE) == 0
            program.await_gone()
    return test


def test_a_second_signal_ends_the_server_at_once(box):
    server = serving.Server(["--mode", "shell", "--drain-timeout", "600s"])
    trace = traces.Traces(server)
    program = Program()
    asked = Asking(server, execute(program.code))
    program.await_running()
    trace.look()
    server.process.terminate()
    await_draining(server)  # only then is the next signal the second one
    server.process.terminate()
    code = server.process.wait(traces.PATIENCE)
    assert code == 130, (code, server.said())
    program.await_gone()
    asked.join(traces.PATIENCE)
    server.discard()
    trace.check()


def test_a_killed_server_leaves_nothing_that_the_next_does_not_remove(box):
    server = serving.Server(["--mode", "shell"])
    trace = traces.Traces(server)
    program = Program()
    asked = Asking(server, execute(program.code))
    program.await_running()
    trace.look()
    server.process.kill()
    server.process.wait()
    program.await_gone()
    asked.join(traces.PATIENCE)
    server.discard()
    with served():
        trace.check()


# --- A slot dies. ---

def test_a_slot_that_dies_while_it_runs_is_an_error_of_ours_and_the_next_request_works(box):
    needs_root()
    with served() as (server, trace):
        program = Program()
        asked = Asking(server, execute(program.code))
        init = traces.slot_init_of(server, program)
        trace.look()
        os.kill(init.pid, signal.SIGKILL)
        answer = asked.get()
        assert (answer.status, "slot init is gone" in answer.json()["error"]) == (500, True), answer
        program.await_gone()


def waiting_slots(server):
    """The slot inits of the server, and their cell inits; None until a guest waits in a cell. A slot gets its next guest
    after the answer of the last run."""
    below = traces.descendants(server.process.pid)
    slots = {process.pid for process in below if process.parent == server.process.pid}
    cells = {process.pid for process in below if process.parent in slots}
    return (slots, cells) if any(process.parent in cells for process in below) else None


def test_a_slot_that_died_while_it_waited_is_noticed_before_it_is_used(box):
    """Its init, or the first process of the cell that waits for the next run."""
    needs_root()
    with served("--max-concurrent", "2") as (server, trace):
        for of_cell in (False, True, False):
            assert server.execute("echo first")["stdout"] == "first\n"
            slots, cells = traces.await_true(lambda: waiting_slots(server), "no slot has its next guest")
            trace.look()
            doomed = cells if of_cell else slots
            for pid in doomed:
                os.kill(pid, signal.SIGKILL)
            traces.await_true(lambda: not doomed & traces.processes().keys(), "they live")
            assert server.execute("echo second")["stdout"] == "second\n"


# --- Packages. ---

def package_sets(server):
    """What is in the package cache, as the server sees it."""
    folder = pathlib.Path(f"/proc/{server.process.pid}/root{server.folder.name}/cache/package-sets")
    return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []


def test_a_full_disk_fails_an_installation_and_nothing_else(box):
    needs_root()
    # Its cache is a file system of its own, in a mount namespace of its own.
    small = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mkdir {tmp}/cache && mount -t tmpfs -o size=96m polybox-test {tmp}/cache && exec "$@"', "sh"]
    script = "mkdir $0; head -c 8000000 /dev/zero > $0/data; echo value=42 > $0/made.py"
    with served(languages=scripted.language("sh", "-c", script), prefix=small) as (server, _):
        cache = pathlib.Path(f"/proc/{server.process.pid}/root{server.folder.name}/cache")
        ready = {"method": "GET", "path": "/readyz"}
        assert server.ask(ready).status == 200, server.ask(ready)
        ballast = cache / "ballast"
        free = os.statvfs(cache).f_bavail * os.statvfs(cache).f_frsize
        ballast.write_bytes(bytes(free - 4_000_000))
        wanted = execute("import made; print(made.value)", language="scripted", requirements=["six"])
        answer = server.ask(wanted)
        assert (answer.status, answer.json()["status"], answer.json()["exit_code"]) == (200, "error", -1), answer
        said = answer.json()["stderr"]
        assert said.startswith("package installation failed: ") and "No space left on device" in said, answer
        assert package_sets(server) == [], package_sets(server)
        # Who balances loads is told; programs without packages run all the same.
        assert server.ask(ready).status == 200 and "the disk of the cache is full" in server.ask(ready).text
        health = server.ask({"method": "GET", "path": "/health"})
        assert (health.status, health.json()["status"]) == (200, "degraded"), health
        assert server.execute("echo without")["stdout"] == "without\n"
        ballast.unlink()
        assert server.ask(wanted).json()["stdout"] == "42\n", server.ask(wanted)
        assert server.ask(ready).status == 200, server.ask(ready)


def test_a_full_cache_disk_is_reported_at_the_start_and_programs_run(box):
    needs_root()
    full = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
            'mkdir -p {tmp}/cache && mount -t tmpfs -o size=1m polybox-test {tmp}/cache && exec "$@"', "sh"]
    said = "the disk of the cache directory {} is full: programs run, but nothing more is kept"
    with serving.Server(["--mode", "shell"], prefix=full) as server:
        assert said.format(f"{server.folder.name}/cache") in server.said(), server.said()
        assert server.execute("echo ran")["stdout"] == "ran\n"
    command = [word.replace("{tmp}", str(box.path)) for word in full]
    done = subprocess.run([*command, str(box.binary), "run", str(box.write("a.sh", "echo ran"))], env=box.env(),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done
    assert said.format(f"{box.path}/cache") in done.stderr and "fix: make room there" in done.stderr, done


def closed_port():
    """One at which nobody listens, and nobody will by chance while it is held."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    return held, held.getsockname()[1]


def offline(index, allowed):
    def test(box):
        needs_root()
        held, port = closed_port()
        with held, served("--python-index", index.format(port=port), "--egress-allow",
                          allowed.format(port=port)) as (server, _):
            if "python" not in server.health["languages"]:
                raise Skip("python is not available")  # noqa: F821
            answer = server.ask(execute("print(1)", language="python", requirements=["six"]))
            result = answer.json()
            assert (answer.status, result["status"], result["exit_code"]) == (200, "error", -1), answer
            assert result["stderr"].startswith("package installation failed: exit status "), answer
            assert result["stdout"] == "" and result["install_time_ms"] > 0, answer
            assert package_sets(server) == [], package_sets(server)
            assert server.execute("print(6 * 7)", language="python")["stdout"] == "42\n"
    return test


if serving.has_serve():
    for name in WAYS:
        globals()[f"test_a_client_that_goes_while_its_program_runs_ends_it_{name}"] = client_goes(name)
    for name in CANCELLED:
        globals()[f"test_a_request_past_its_deadline_is_cancelled_and_told_{name}"] = end_of_patience(name)
    test_an_installer_whose_index_does_not_listen_fails_with_its_words = offline(
        "https://127.0.0.1:{port}/simple", "127.0.0.1:{port}")
    test_an_installer_whose_index_has_no_address_fails_with_its_words = offline(
        "https://index.invalid/simple", "public")
else:
    for name in [name for name in globals() if name.startswith("test_")]:
        del globals()[name]


def test_a_guest_that_is_signalled_while_it_waits_ends_and_the_next_program_runs(box):
    if os.geteuid() != 0:
        raise Skip("to signal a guest needs root")  # noqa: F821
    with serving.Server(["--warm=off", "--max-concurrent=1"]) as server:
        assert server.execute("echo 1", language="shell")["stdout"] == "1\n"

        def waiting():
            known = traces.processes()
            inits = {pid for pid, process in known.items() if process.parent == server.process.pid}
            cells = {pid for pid, process in known.items() if process.parent in inits}
            return [pid for pid, process in known.items() if process.parent in cells]

        guests = traces.await_true(waiting, "no guest waits")
        for pid in guests:
            os.kill(pid, signal.SIGTERM)
        traces.await_true(lambda: not set(guests) & set(waiting()), "a guest that was told to end goes on")
        assert server.execute("echo 2", language="shell")["stdout"] == "2\n"
