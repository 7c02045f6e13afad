#!/usr/bin/env python3
"""Measures the tools of agents and compares the figures with agents.toml.

Usage: agents.py [WORD...]
  WORD   names of measures: only those
"""
import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "driver"))

import figures  # noqa: E402
import serving  # noqa: E402
from mcp_client import Server, request  # noqa: E402

READS = 1000
ROUNDS, RUNS = 9, 15
GAP = 0.06
CONCURRENT = 64
PATIENCE = 120
ORDINARY = 1000


class Agent:
    def __init__(self, workspace):
        self.server = Server([serving.BINARY, "mcp", "--workspace", workspace])
        self.last = 0

    def call(self, name, **arguments):
        self.last += 1
        self.server.send(request(self.last, "tools/call", name=name, arguments=arguments))
        result = self.server.take(PATIENCE)["result"]
        assert not result["isError"], result
        return result


@contextlib.contextmanager
def agent():
    # Not below /tmp, of which a jail has its own.
    workspace = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp", prefix="polybox-bench-"))
    if os.geteuid() == 0:
        # Commands do not run for root.
        os.chown(workspace, ORDINARY, ORDINARY)
    (workspace / "lines.txt").write_text("".join(f"line {i} of the file\n" for i in range(200)))
    caller = Agent(workspace)
    with caller.server:
        yield caller
        caller.server.end()
    shutil.rmtree(workspace)


def timed(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def read_stdio():
    with agent() as caller:
        caller.call("Read", file_path="lines.txt")
        return statistics.median(timed(lambda: caller.call("Read", file_path="lines.txt")) for _ in range(READS)) * 1000


def read_http():
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "lines.txt").write_text("".join(f"line {i} of the file\n" for i in range(200)))
        with serving.Server(["--workspace", folder]) as server:
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Read",
                       "Accept": "application/json, text/event-stream"}
            message = request(1, "tools/call", name="Read", arguments={"file_path": "lines.txt"})

            def read():
                answer = server.ask({"method": "POST", "path": "/mcp", "json": message, "headers": headers})
                assert answer.status == 200, answer
            read()
            return statistics.median(timed(read) for _ in range(READS)) * 1000


def bare():
    subprocess.run(["/bin/bash", "-c", "true"], check=True)


def bash_over_bare(gap):
    """Rounds of both in turn, so that a noisy moment hits both."""
    ours, theirs = figures.Latency(), figures.Latency()
    with agent() as caller:
        caller.call("Bash", command="true")
        for _ in range(ROUNDS):
            for action, latency in ((lambda: caller.call("Bash", command="true"), ours), (bare, theirs)):
                times = []
                for _ in range(RUNS):
                    time.sleep(gap)  # sleeps: the gap that is measured
                    times.append(timed(action))
                latency.add(times)
    print(f"  p50 {ours.at(0.5):.2f} ms beside {theirs.at(0.5):.2f} ms bare")
    return figures.Ratio(ours, theirs).median


def bash_back_to_back():
    return bash_over_bare(0)


def bash_with_gaps():
    return bash_over_bare(GAP)


def concurrent():
    with agent() as caller:
        for number in range(CONCURRENT):
            caller.server.send(request(number, "tools/call", name="Bash", arguments={"command": f"echo {number}"}))
        answers = [caller.server.take(PATIENCE) for _ in range(CONCURRENT)]
        return sum("result" not in answer or answer["result"]["isError"] for answer in answers)


MEASURES = {each.__name__: each for each in (read_stdio, read_http, bash_back_to_back, bash_with_gaps, concurrent)}


def promises():
    return tomllib.loads((HERE / "agents.toml").read_text())["promise"]


def main():
    words = set(sys.argv[1:])
    if words - set(MEASURES):
        sys.exit(f"{__doc__}\nunknown: {words - set(MEASURES)}")
    serving.be_ordinary()
    for promise in promises():
        if words and promise["measure"] not in words:
            continue
        value = MEASURES[promise["measure"]]()
        kept = "kept" if value <= promise["most"] else "NOT KEPT"
        print(f"{promise['text']:38} {value:8.2f} {promise['unit']}, at most {promise['most']}: {kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
