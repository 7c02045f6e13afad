"""Many requests at once against a server whose queue is full: what each was answered, and how fast.

Connections are of asyncio's plain protocols, since the client shares its cores with the server. Each sends its requests one
after the other; a request has a number, which its program prints and its head carries, so that every answer is known to be
its own. /health is asked all the while by a process of its own (probe.py), which this one cannot delay.
"""
import asyncio
import base64
import collections
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

PROBE = pathlib.Path(__file__).resolve().parent / "probe.py"
# Longer than anything that is admitted may wait: an answer that is later than this counts as none.
PATIENCE = 60
AT_CAPACITY = re.compile(r'{"error":"at capacity \((\d+)/(\d+) concurrent executions\)"}\n')


def execute_body(text):
    return {"language": "bash", "code": f"echo {text}"}


def run_body(text):
    return {"runtime": "bash", "files": [{"name": "main.sh", "content": f"echo {text}"}]}


def execute_result(body, text):
    result = json.loads(body)
    return result["stdout"] == f"{text}\n" and result["exit_code"] == 0


def run_result(body, text):
    step = json.loads(body)["run"]
    return base64.b64decode(step["stdout"]).decode() == f"{text}\n" and step["exit_code"] == 0


def execute_refusal(body):
    said = AT_CAPACITY.fullmatch(body)
    return said is not None and int(said[1]) > int(said[2])


def run_refusal(body):
    return json.loads(body)["code"] == "SERVER_BUSY"


Door = collections.namedtuple("Door", "path body result refused refusal")
DOORS = {
    "execute": Door("/execute", execute_body, execute_result, 429, execute_refusal),
    "run": Door("/v1/run", run_body, run_result, 503, run_refusal),
}


class Plan(collections.namedtuple("Plan", "door connections requests pause")):
    """`requests` in all; after a refusal a connection pauses for up to `pause` seconds."""


class Tally:
    def __init__(self):
        self.accepted, self.refused, self.wrong = [], [], []
        self.begin = time.monotonic()
        self.last = self.begin

    def add(self, door, text, answer, seconds):
        status, headers, body = answer
        self.last = time.monotonic()
        if headers.get("x-request-id") != text:
            self.wrong.append(f"{text} was answered with {headers.get('x-request-id')}")
        elif status == 200 and door.result(body, text):
            self.accepted.append(seconds)
        elif status == door.refused and door.refusal(body) and int(headers.get("retry-after", 0)) >= 1:
            self.refused.append(seconds)
        else:
            self.wrong.append(f"{text}: {status} {headers} {body[:300]}")


class Connection(asyncio.Protocol):
    """One keep-alive connection: `ask` sends a request and waits for its answer."""

    def __init__(self):
        self.read, self.waiting, self.lost, self.transport = b"", None, False, None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.read += data
        end = self.read.find(b"\r\n\r\n")
        if end < 0 or self.waiting is None:
            return
        lines = self.read[:end].decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        size = int(headers["content-length"])
        if len(self.read) < end + 4 + size:
            return
        body, self.read = self.read[end + 4:end + 4 + size].decode(), self.read[end + 4 + size:]
        waiting, self.waiting = self.waiting, None
        waiting.set_result((int(lines[0].split()[1]), headers, body))

    def connection_lost(self, reason):
        self.lost = True
        if self.waiting is not None:
            self.waiting.set_exception(ConnectionError(f"the server closed the connection: {reason}"))

    async def ask(self, door, text):
        body = json.dumps(door.body(text))
        self.waiting = asyncio.get_running_loop().create_future()
        self.transport.write((f"POST {door.path} HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: {text}\r\n"
                              f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
        return await asyncio.wait_for(self.waiting, PATIENCE)


async def converse(port, name, count, plan, tally):
    door, pauses = DOORS[plan.door], random.Random(name)
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    try:
        for number in range(count):
            text = f"{plan.door}-{name}-{number}"
            begin = time.monotonic()
            answer = await connection.ask(door, text)
            tally.add(door, text, answer, time.monotonic() - begin)
            if answer[0] != 200 and plan.pause:
                # sleeps: a refused client pauses, as real clients do.
                await asyncio.sleep(pauses.uniform(0, plan.pause))
    except (ConnectionError, asyncio.TimeoutError) as failure:
        tally.wrong.append(f"connection {name}: {failure!r}")
    return connection


async def converse_all(port, plans, tallies):
    talks = []
    for plan in plans:
        for name in range(plan.connections):
            count = plan.requests // plan.connections + (name < plan.requests % plan.connections)
            talks.append(converse(port, name, count, plan, tallies[plan.door]))
    connections = await asyncio.gather(*talks)
    # sleeps: a second answer to a request would come now, and none may.
    await asyncio.sleep(0.2)
    for connection in connections:
        if connection.read or connection.lost:
            tallies[plans[0].door].wrong.append(f"after all answers: {connection.read[:300]!r}, lost: {connection.lost}")
        connection.transport.close()


def put_under_load(port, plans):
    """Tallies by door, and how long /health took meanwhile, in seconds."""
    probe = subprocess.Popen([sys.executable, "-ES", str(PROBE), str(port)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    try:
        probe.stdout.readline()  # it has begun
        tallies = {plan.door: Tally() for plan in plans}
        asyncio.run(converse_all(port, plans, tallies))
    finally:
        out, _ = probe.communicate(timeout=PATIENCE)  # the end of its input ends it
    assert probe.returncode == 0, "the probe of /health failed"
    return tallies, json.loads(out)


def at(times, share):
    """The value that `share` of them do not exceed."""
    times = sorted(times)
    return times[min(len(times) - 1, int(len(times) * share))]


def longest_wait(tally, held):
    """What the last in a full queue needs at the rate at which this server answers. Nobody who is admitted waits behind more
    than `held` others (the queue and the places), so twice this, and a second for the machine, bounds p99."""
    return held * (tally.last - tally.begin) / len(tally.accepted)


def faults(tally, held):
    """What breaks the promises, whatever the machine."""
    found = tally.wrong[:5]
    if len(tally.accepted) < held:
        found.append(f"only {len(tally.accepted)} were accepted, though {held} have room at once")
    if not tally.refused:
        found.append("nothing was refused: this was no load")
    if found:
        return found
    bound = 2 * longest_wait(tally, held) + 1
    if at(tally.accepted, 0.99) > bound:
        found.append(f"p99 of those accepted is {at(tally.accepted, 0.99):.2f} s, above {bound:.2f} s")
    # Whoever is refused has not waited in the queue.
    if statistics.median(tally.refused) > 0.1 + statistics.median(tally.accepted) / 4:
        found.append(f"half of the refusals took {statistics.median(tally.refused):.3f} s or more")
    return found


def describe(name, tally):
    def row(what, times):
        if not times:
            return f"  {what:9} none"
        return (f"  {what:9} {len(times):5}   p50 {statistics.median(times) * 1000:7.1f}   p99 {at(times, 0.99) * 1000:7.1f}"
                f"   max {max(times) * 1000:7.1f} ms")
    seconds = tally.last - tally.begin
    return "\n".join([f"{name}: {len(tally.accepted) / seconds:.0f} accepted/s for {seconds:.1f} s",
                      row("accepted", tally.accepted), row("refused", tally.refused)])
