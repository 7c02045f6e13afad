#!/usr/bin/env python3
"""The long form of tests/e2e/load_test.py, in `make bench`: 2,000 requests over 200 connections with a queue of 50, to each
door and to both, with clients that come back at once and with ones that pause. Fails when a promise is broken."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "driver"))

import load  # noqa: E402
import serving  # noqa: E402

QUEUE = 50
REQUESTS = 2000
CONNECTIONS = 200
HEALTH_BOUND = 0.05
# How the server is used: doors, and for how long at most a client that was refused pauses.
ROUNDS = {
    "/execute, clients that come back at once": (["execute"], 0),
    "/execute, clients that pause up to 0.3 s": (["execute"], 0.3),
    "/v1/run, clients that pause up to 0.3 s": (["run"], 0.3),
    "both doors, half of the clients each": (["execute", "run"], 0.3),
}


def main():
    serving.be_ordinary()
    broken = []
    with serving.Server(["--mode", "shell", "--queue", str(QUEUE), "--max-queue-size", str(QUEUE)]) as server:
        capacity = {"execute": server.health["capacity"], "run": 10}
        for name, (doors, pause) in ROUNDS.items():
            plans = [load.Plan(door, CONNECTIONS // len(doors), REQUESTS // len(doors), pause) for door in doors]
            tallies, health = load.put_under_load(server.port, plans)
            print(f"== {name}")
            for door, tally in tallies.items():
                print(load.describe(door, tally))
                broken += [f"{name}: {door}: {fault}" for fault in load.faults(tally, QUEUE + capacity[door])]
            print(f"  /health   {len(health):5}   p50 {load.at(health, 0.5) * 1000:7.1f}   "
                  f"p99 {load.at(health, 0.99) * 1000:7.1f}   max {max(health) * 1000:7.1f} ms", flush=True)
            if max(health) >= HEALTH_BOUND:
                broken.append(f"{name}: /health took {max(health) * 1000:.0f} ms once")
    for line in broken:
        print(f"broken: {line}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
