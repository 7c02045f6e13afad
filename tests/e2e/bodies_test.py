"""The memory of requests and answers, over HTTP: each contract refuses in its own words, and the times for a request hold."""
import json
import pathlib
import re
import socket
import threading
import time

import traces
from serving import Server, has_serve


class Slow:
    """A client that sends the beginning of a body and then waits."""

    def __init__(self, server, path, announced, sent):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.socket.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {announced}\r\n\r\n".encode() + b"x" * sent)

    def is_read(self):
        """Whether the server has taken all that was sent."""
        here, there = (f"{address[1]:04X}" for address in (self.socket.getsockname(), self.socket.getpeername()))
        waiting = {}
        for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, remote, _, queues = line.split()[:5]
            waiting[local[-4:], remote[-4:]] = queues
        return waiting.get((here, there)) == waiting.get((there, here)) == "00000000:00000000"

    def await_read(self):
        deadline = time.monotonic() + 30
        while not self.is_read():
            assert time.monotonic() < deadline, "the server does not read"
            time.sleep(0.02)

    def close(self):
        self.socket.close()


def own_memory(server):
    """KiB that the server itself holds, without its jails."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)[1])


if has_serve():
    def test_bodies_that_find_no_memory_are_refused_in_each_contracts_words(box):
        server = Server(["--max-body-memory", "1MiB", "--request-timeout", "60s"])
        try:
            slow = Slow(server, "/execute", 900_000, 890_000)
            slow.await_read()
            for path, words in (("/execute", {"error": "too many requests are being read"}),
                                ("/v1/run", {"code": "SERVER_BUSY", "message": "server is busy, please retry later"}),
                                ("/upload", {"detail": "too many requests are being read"})):
                answer = server.ask({"path": path, "body": {"repeat": ["x", 500_000]}})
                assert answer.status == 503, str(answer)
                assert json.loads(answer.text) == words, str(answer)
                assert {k.lower(): v for k, v in answer.headers.items()}["retry-after"] == "1", str(answer)
            assert server.ask({"method": "GET", "path": "/health"}).status == 200
            assert server.ask({"path": "/execute", "json": {"command": "echo small"}}).json()["stdout"] == "small\n"
            slow.close()
            deadline = time.monotonic() + 30
            while server.ask({"path": "/upload", "body": {"repeat": ["x", 500_000]}}).status == 503:
                assert time.monotonic() < deadline, "the memory was not given back"
                time.sleep(0.05)
        finally:
            server.stop()

    def test_the_times_for_a_request_are_settings(box):
        server = Server(["--header-timeout", "1s", "--request-timeout", "2s", "--idle-timeout", "1s", "--max-timeout", "7s"])
        try:
            for sent, least in ((b"POST /execute HT", 0.9), (b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{", 1.9)):
                with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
                    client.sendall(sent)
                    started = time.monotonic()
                    assert client.recv(1000) == b"", "it was answered"
                    assert least < time.monotonic() - started < 20
            answer = server.ask({"path": "/execute", "json": {"code": "1", "timeout_seconds": 100}}).json()
            assert answer["timeout_seconds"] == 7, answer
            answer = server.ask({"path": "/execute", "json": {"code": "1"}}).json()
            assert answer["timeout_seconds"] == 7, answer
        finally:
            server.stop()

    def test_memory_of_large_answers_goes_back_when_nobody_asks(box):
        most = 4096  # KiB, beside what a server that has answered nothing has
        server = Server([])
        try:
            before = own_memory(server)
            code = "head -c 900000 /dev/zero | tr '\\0' x"
            large = {"path": "/execute", "json": {"language": "bash", "code": code}}
            clients = [threading.Thread(target=lambda: [server.ask(large) for _ in range(3)]) for _ in range(6)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
            assert len(server.ask(large).json()["stdout"]) == 900_000
            traces.await_true(lambda: own_memory(server) <= before + most, "the memory was not given back")
        finally:
            server.stop()
