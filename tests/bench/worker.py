"""One client of a measurement: reads orders as lines of JSON, runs a task as often as they say, writes the times as JSON.

A process of its own per client, since starting a process holds Python's lock. A task is a program to spawn
({"argv", "env", "cwd"}; {id} in argv is new each time) or a request ({"host", "port", "path", "body", "good"}); its answer counts
when it holds one of the texts `good`.
"""
import json
import os
import select
import socket
import sys
import time

TIMEOUT = 120


class Spawn:
    def __init__(self, task):
        self.argv, self.env = task["argv"], task["env"]
        self.null = os.open(os.devnull, os.O_RDWR)
        self.cwd, self.count = task["cwd"], 0

    def prepare(self):
        os.chdir(self.cwd)

    def run(self):
        self.count += 1
        argv = [word.replace("{id}", f"polybox-bench-{os.getpid()}-{self.count}") for word in self.argv]
        read, write = os.pipe()
        pid = os.posix_spawn(argv[0], argv, self.env, file_actions=[
            (os.POSIX_SPAWN_DUP2, self.null, 0), (os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_DUP2, write, 2)])
        os.close(write)
        parts = []
        while part := os.read(read, 1 << 16):
            parts.append(part)
        os.close(read)
        _, status = os.waitpid(pid, 0)
        if status != 0:
            raise RuntimeError(f"{argv[0]} ended with status {status}: {b''.join(parts)[-500:]!r}")
        return b"".join(parts)


class Request:
    def __init__(self, task):
        self.host, self.port, self.good = task["host"], task["port"], [text.encode() for text in task["good"]]
        body = task["body"].encode()
        self.bytes = (f"POST {task['path']} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
                      f"Content-Length: {len(body)}\r\n\r\n").encode() + body
        self.connection = None

    def prepare(self):
        """Before the clock runs: a server closes connections on which nothing happens for long."""
        if self.connection is not None and select.select([self.connection], [], [], 0)[0]:
            self.connection.close()
            self.connection = None
        if self.connection is None:
            self.connection = socket.create_connection((self.host, self.port), TIMEOUT)
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self):
        self.connection.sendall(self.bytes)
        read = bytearray()
        while (end := read.find(b"\r\n\r\n")) < 0:
            read += self.receive()
        head = bytes(read[:end]).lower()
        at = head.find(b"\r\ncontent-length:")
        if at < 0:
            raise RuntimeError(f"an answer without its length: {head!r}")
        whole = end + 4 + int(head[at + 17:].split(b"\r\n", 1)[0])
        while len(read) < whole:
            read += self.receive()
        body = bytes(read[end + 4:])
        if not any(text in body for text in self.good):
            raise RuntimeError(f"{head.splitlines()[0].decode()}: {body[-1500:]!r}")
        return body

    def receive(self):
        part = self.connection.recv(1 << 18)
        if not part:
            raise RuntimeError("the server closed the connection")
        return part


known = {}


def runner(task):
    """The same task keeps its connection. Those that are measured together have the same working directory."""
    key = json.dumps(task, sort_keys=True)
    if key not in known:
        known[key] = Spawn(task) if "argv" in task else Request(task)
    known[key].prepare()
    return known[key]


def timed(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def with_gaps(order):
    """One run of each task after the other, with a pause before each: [[seconds] of each task]."""
    runners = [runner(task) for task in order["tasks"]]
    times = [[] for _ in runners]
    for round_number in range(order["rounds"]):
        for i in range(len(runners)):
            at = (i + round_number) % len(runners)
            time.sleep(order["gap"])  # sleeps: the gap between runs is a condition of the measurement
            runners[at].prepare()
            times[at].append(timed(runners[at].run))
    return {"times": times}


def back_to_back(order):
    run = runner(order["task"]).run
    begin = time.perf_counter()
    while time.perf_counter() < begin + order["seconds"]:
        run()  # until everything is there that such a load needs
    times, begin = [], time.perf_counter()
    while time.perf_counter() < begin + order["seconds"] or len(times) < order["least"]:
        times.append(timed(run))
    return {"times": times, "seconds": time.perf_counter() - begin}


def once(order):
    return {"output": runner(order["task"]).run().decode("utf-8", "replace")}


DEEDS = {"once": once, "with_gaps": with_gaps, "back_to_back": back_to_back}


def main():
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = DEEDS[order["do"]](order)
        except (RuntimeError, OSError) as failure:
            known.clear()  # a connection in the middle of an answer is of no use
            answer = {"failure": str(failure)}
        print(json.dumps(answer), flush=True)


main()
