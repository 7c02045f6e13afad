#!/usr/bin/env python3
"""make bench: measures what SPECIFICATION.md promises and prints the figures. A clean environment for every run."""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BINARY = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "polybox"
ROUNDS = 40


def once(args, env):
    begin = time.perf_counter()
    subprocess.run([BINARY, *args], env=env, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begin) * 1000


def report(name, times):
    times = sorted(times)
    print(f"{name:34} p50 {statistics.median(times):7.1f} ms   p95 {times[int(len(times) * 0.95)]:7.1f} ms"
          f"   best {times[0]:7.1f} ms")


def main():
    import os
    with tempfile.TemporaryDirectory() as cache:
        env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "POLYBOX_CACHE_DIR": cache}
        report("languages, cold cache", [once(["languages"], env)])
        # Interleaved, so that a noisy moment hits both.
        warm, floor = [], []
        for _ in range(ROUNDS):
            warm.append(once(["languages"], env))
            floor.append(once(["version"], env))
        report("languages, warm cache", warm)
        report("version (the floor: process start)", floor)
    return 0


if __name__ == "__main__":
    sys.exit(main())
