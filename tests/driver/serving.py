"""`polybox serve` as the tests start it: on a free port, in an environment and a folder of its own.

A server that ends with anything but success, or in whose log a sanitizer has spoken, fails whoever stops it.
"""
import atexit
import base64
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Another build than the release one when POLYBOX names it.
BINARY = pathlib.Path(os.environ.get("POLYBOX", ROOT / "build" / "polybox")).absolute()
# For every server that is started, such as --warm=off.
EXTRA_ARGUMENTS = os.environ.get("POLYBOX_SERVE", "").split()
# Settings of the suite's own environment that every polybox of the tests gets, run or serve: see tools/run-tests.
SETTINGS = {name: os.environ[name] for name in ("POLYBOX_REUSE",) if name in os.environ}
TIMEOUT = 60
# A server with sanitizers on a busy machine takes its time to look at every toolchain.
START_TIMEOUT = 60
STOP_TIMEOUT = 30

REQUEST_KEYS = {"method", "path", "headers", "json", "body", "body_base64", "chunked"}
# What the sanitizers begin their reports with, whatever they are about.
SANITIZER = re.compile(rb"(?:ERROR|WARNING): \w+Sanitizer|: runtime error: ")

running = set()
# What every server was asked and answered, for openapi_test.py: (server, method, path, answer).
ANSWERS = []


def copy_of(binary, folder):
    """A copy of a program in a folder that other users may enter.

    Another process makes it. A thread of this process that starts a program meanwhile would hold the copy open for writing
    for a moment, and a program that is open for writing cannot be started (ETXTBSY)."""
    copy = pathlib.Path(folder) / "polybox"
    subprocess.run(["cp", "--dereference", "--preserve=mode", str(binary), str(copy)], check=True, timeout=TIMEOUT)
    return str(copy)


def has_serve():
    if not BINARY.exists():
        return False
    asked = subprocess.run([str(BINARY), "serve", "--help"], capture_output=True, timeout=TIMEOUT)
    return asked.returncode == 0


def be_ordinary():
    """For whoever measures: guests have the weight of ordinary processes; clients and a server with more would starve them."""
    if os.getpriority(os.PRIO_PROCESS, 0) < 0:
        os.setpriority(os.PRIO_PROCESS, 0, 0)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Answer:
    def __init__(self, status, headers, body, seconds):
        self.status, self.headers, self.body, self.seconds = status, headers, body, seconds
        self.text = body.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return f"\nstatus {self.status}\n{self.headers}\n{self.text[:2000]}"


def special(value):
    """Long and binary texts that nobody wants to see in a file: {repeat = ["x", 3]}, {base64 = "text"}."""
    if isinstance(value, dict) and value.keys() == {"repeat"}:
        return value["repeat"][0] * value["repeat"][1]
    if isinstance(value, dict) and value.keys() == {"list_of"}:
        return [special(value["list_of"][0])] * value["list_of"][1]
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return base64.b64encode(value["base64"].encode()).decode()
    if isinstance(value, dict):
        return {key: special(item) for key, item in value.items()}
    if isinstance(value, list):
        return [special(item) for item in value]
    return value


def clean_environment(folder, path=None):
    clean = SETTINGS | {
        "PATH": path or os.environ["PATH"],
        "XDG_CONFIG_HOME": f"{folder}/config",
        "POLYBOX_CACHE_DIR": f"{folder}/cache",
        "SANDBOX_BASE_DIR": f"{folder}/base",
    }
    # Toolchains and preinstalled packages are this machine's own.
    for name in ("HOME", "PYENV_ROOT", "RUSTUP_HOME", "POLYBOX_PACKAGES_DIR"):
        if name in os.environ:
            clean[name] = os.environ[name]
    return clean


class Server:
    """`prefix` is a command that starts it (`unshare ...`); {tmp} in arguments is its folder."""

    def __init__(self, args=(), env=None, path=None, prefix=(), address="127.0.0.1"):
        self.folder = tempfile.TemporaryDirectory(prefix="polybox-http-")
        self.port = free_port()
        (pathlib.Path(self.folder.name) / "base").mkdir()
        self.log = open(f"{self.folder.name}/log", "w+b")
        command = [*prefix, str(BINARY), "serve", "--listen", f"{address}:{self.port}", *args,
                   *EXTRA_ARGUMENTS]
        command = [word.replace("{tmp}", self.folder.name) for word in command]
        self.process = subprocess.Popen(command, env=clean_environment(self.folder.name, path) | (env or {}),
                                        cwd=self.folder.name, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log)
        running.add(self)
        try:
            self.await_ready()
            self.health = self.ask({"method": "GET", "path": "/health"}).json()
            self.document = self.ask({"method": "GET", "path": "/openapi.json"}).body
        except BaseException:
            self.end()
            raise

    def await_ready(self):
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"the server ended at once:\n{self.said()}"
            try:
                if self.ask({"method": "GET", "path": "/healthz"}).status == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"the server does not answer:\n{self.said()}")

    def whole_log(self):
        self.log.seek(0)
        return self.log.read()

    def said(self):
        return self.whole_log().decode("utf-8", "replace")[-4000:]

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)

    def ask(self, request):
        """One request on a connection of its own."""
        unknown = request.keys() - REQUEST_KEYS
        assert not unknown, f"unknown keys in the request: {unknown}"
        headers, body = dict(request.get("headers", {})), None
        if "json" in request:
            body = json.dumps(special(request["json"])).encode()
            headers.setdefault("Content-Type", "application/json")
        elif "body" in request:
            body = special(request["body"]).encode()
        elif "body_base64" in request:
            body = base64.b64decode(request["body_base64"])
        if request.get("chunked"):
            headers["Transfer-Encoding"] = "chunked"
            body = iter([body[i:i + 65536] for i in range(0, len(body), 65536)])
        started = time.monotonic()
        connection = self.connection()
        try:
            connection.request(request.get("method", "POST"), request["path"], body, headers,
                               encode_chunked=bool(request.get("chunked")))
            response = connection.getresponse()
            answer = Answer(response.status, dict(response.getheaders()), response.read(),
                            time.monotonic() - started)
            # A preflight is a browser's question about an operation, and no operation of its own.
            if "Access-Control-Request-Method" not in headers:
                ANSWERS.append((self, request.get("method", "POST"), request["path"], answer))
            return answer
        finally:
            connection.close()

    def execute(self, code, **more):
        """The result of /execute, which must have been one."""
        answer = self.ask({"path": "/execute", "json": {"code": code} | more})
        assert answer.status == 200, answer
        return answer.json()

    def complaint(self):
        """What is wrong with how it ended; None when nothing is."""
        spoken = SANITIZER.search(log := self.whole_log())
        if spoken:
            return "a sanitizer reports:\n" + log[spoken.start():][:8000].decode("utf-8", "replace")
        if self.process.returncode not in (0, -signal.SIGKILL):
            return f"the server ended with {self.process.returncode}:\n{self.said()}"
        return None

    def end(self):
        """Ends it without a look at how."""
        running.discard(self)
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def stop(self):
        """Ends it, and fails when it did not end well."""
        was_running = self.process.poll() is None
        self.end()
        complaint = self.complaint()
        if was_running and self.process.returncode == -signal.SIGKILL:
            complaint = complaint or f"the server did not end when told to:\n{self.said()}"
        self.log.close()
        self.folder.cleanup()
        assert complaint is None, complaint

    def discard(self):
        """For one that a test has ended in its own way."""
        self.end()
        self.log.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.stop()


def stop_all():
    """Stops what still runs; one text per server that ended badly."""
    complaints = []
    for server in list(running):
        try:
            server.stop()
        except AssertionError as complaint:
            complaints.append(str(complaint))
    return complaints


atexit.register(stop_all)
