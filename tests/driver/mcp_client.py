"""A plain MCP client over pipes, one JSON text per line, for tests that must see every byte."""
import json
import queue
import subprocess
import threading

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def request(number, method, meta=None, **params):
    """A request of 2026-07-28."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": MODERN | (meta or {}), **params}}


def legacy(number, method, **params):
    """A request of the versions with a handshake."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


class Server:
    """A server as a child process. Use it in a `with`; it is killed at the end if it still runs."""

    def __init__(self, command, env=None, cwd=None):
        self.process = subprocess.Popen(
            [str(word) for word in command], env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.errors = b""
        self.threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self):
        self.errors = self.process.stderr.read()

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def take(self, timeout=20):
        """The next message; None at the end of the output. Every line must be JSON."""
        line = self.lines.get(timeout=timeout)
        return None if line is None else json.loads(line)

    def ask(self, message):
        self.send(message)
        return self.take()

    def initialize(self, version):
        answer = self.ask(legacy(0, "initialize", protocolVersion=version, capabilities={},
                                 clientInfo={"name": "test", "version": "1"}))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def call(self, number, name, **arguments):
        return self.ask(request(number, "tools/call", name=name, arguments=arguments))

    def end(self, timeout=10):
        """Closes the input; returns the exit code and the messages that were not taken."""
        self.process.stdin.close()
        return self.wait(timeout)

    def wait(self, timeout=10):
        code = self.process.wait(timeout)
        rest = []
        while (message := self.take()) is not None:
            rest.append(message)
        return code, rest
