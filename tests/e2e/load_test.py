"""A server under more load than it takes, in short; `make bench` has the long form (tests/bench/load.py)."""
import re

import load
import serving

QUEUE = 50
# So many connections that a full queue always has somebody before it.
CONNECTIONS = 200
REQUESTS = 600
SERVED = re.compile(r'polybox_http_requests_total\{door="(\w+)",route="/(?:execute|v1/run)",status="(\d+)"\} (\d+)')


def served_by(server):
    """What the server itself has counted: {(door, status): how many}."""
    page = server.ask({"method": "GET", "path": "/metrics"}).text
    return {(door, int(status)): int(count) for door, status, count in SERVED.findall(page)}


def check(doors, places):
    """`places` run at once behind each door."""
    with serving.Server(["--mode", "shell", "--queue", str(QUEUE), "--max-queue-size", str(QUEUE), "--max-concurrent",
                         str(places), "--max-concurrency", str(places)]) as server:
        plans = [load.Plan(door, CONNECTIONS // len(doors), REQUESTS, 0.3) for door in doors]
        tallies, health = load.put_under_load(server.port, plans)
        for door, tally in tallies.items():
            assert not (found := load.faults(tally, QUEUE + places)), "\n".join([*found, load.describe(door, tally)])
            # Exactly one answer each, in the server's books as well.
            counted = served_by(server)
            told = {(door, 200): len(tally.accepted), (door, load.DOORS[door].refused): len(tally.refused)}
            assert sum(told.values()) == REQUESTS and told.items() <= counted.items(), (told, counted)
        # Nine of ten: the machine of a test may be busy with other things for moments. The long form wants all.
        assert load.at(health, 0.9) < 0.05, f"/health took {load.at(health, 0.9) * 1000:.0f} ms (p90 of {len(health)})"
        idle = server.ask({"method": "GET", "path": "/health"}).json()
        assert (idle["current_load"], idle["queued"]) == (0, 0), idle
        assert server.execute("echo next")["stdout"] == "next\n"


def every_request_is_answered_once_under_load(box):
    check(["execute"], places=4)


def both_doors_refuse_in_their_own_words_under_load(box):
    check(["execute", "run"], places=4)


if serving.has_serve():
    for measured in (every_request_is_answered_once_under_load, both_doors_refuse_in_their_own_words_under_load):
        measured.alone = True
        globals()["test_" + measured.__name__] = measured
