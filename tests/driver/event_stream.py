"""A client of an answer that is a stream of events, for tests that must see every byte."""
import json
import queue
import socket
import threading


class EventStream:
    """An open request whose answer is read by a thread. Use it in a `with`: its end closes the connection."""

    def __init__(self, port, method, path, headers=None, body=b""):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        fields = {"Host": f"127.0.0.1:{port}", "Accept": "text/event-stream", "Content-Length": str(len(body))} | (headers or {})
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        self.events = queue.Queue()
        self.raw = b""
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.thread.join()
        self.file.close()
        self.socket.close()

    def _chunks(self):
        """The parts of the body, which has no length of its own."""
        while True:
            size = int(self.file.readline() or b"0", 16)
            if size == 0:
                return
            yield self.file.read(size)
            self.file.readline()

    def _read(self):
        event = {}
        rest = b""
        try:
            for chunk in self._chunks():
                self.raw += chunk
                rest += chunk
                *lines, rest = rest.split(b"\n")
                for line in (line.rstrip(b"\r").decode() for line in lines):
                    if line and not line.startswith(":"):
                        name, _, value = line.partition(": ")
                        event[name] = value
                    elif event:
                        self.events.put(event)
                        event = {}
        except (OSError, ValueError):
            pass
        self.events.put(None)

    def take(self, timeout=60):
        """The next event; None at the end of the stream."""
        return self.events.get(timeout=timeout)

    def message(self, timeout=60):
        """The next message, which must come as an event of that name."""
        event = self.take(timeout)
        if event is None:
            return None
        assert event["event"] == "message", event
        return json.loads(event["data"])
